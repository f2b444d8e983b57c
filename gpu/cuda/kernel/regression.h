// Generalised linear models: a record's gradient is a multiple of its row.
#pragma once

#include "likelihood.h"
#include "rows.h"
#include "steps.h"

// The model's number is the precision of linear outcomes.
struct Regression {
	const Problem &p;
	const Plan &plan;
	Outcomes outcomes;
	Sums sums;

	DEVICE_METHOD Regression(const Problem &problem, const Plan &of, u32 d, u64 *memory)
		: p(problem), plan(of), outcomes{p.family, 0, p.model[0], 0}, sums(memory, d, block_size()) {}

	DEVICE_METHOD void begin(const double *) { sums.clear(); }

	DEVICE_METHOD void look(bool there, u32 record, const double *theta) {
		double factor = 0;
		if (there) {
			const double *row = p.rows + (u64)record * sums.d;
			double slope = outcomes.slope(dot(row, theta, sums.d), p.outcomes[record], nullptr);
			factor = row_factor(plan, slope, sum_of_squares(row, sums.d));
		}
		sums.add(p.rows, record, factor);
	}

	DEVICE_METHOD i64 total(u32 j) const { return sums.total(j); }
};
