// Generalised linear models: a record's gradient is a multiple of its row.
#pragma once

#include "rows.h"
#include "steps.h"

enum { LOGISTIC, LINEAR, POISSON };

// The derivative of a record's log density in its linear predictor, for outcomes of a
// family, with a precision if that is linear.
DEVICE double slope_of(u64 family, double eta, double y, double precision) {
	switch (family) {
	case LOGISTIC: return y - logistic(eta);
	case LINEAR: return (y - eta) * precision;
	}
	return y - exponential(eta);
}

// The model's number is the precision of linear outcomes.
struct Regression {
	const Problem &p;
	const Plan &plan;
	Sums sums;

	DEVICE_METHOD Regression(const Problem &problem, const Plan &of, u32 d, u64 *memory)
		: p(problem), plan(of), sums(memory, d, block_size()) {}

	DEVICE_METHOD void begin(const double *) { sums.clear(); }

	DEVICE_METHOD void look(bool there, u32 record, const double *theta) {
		double factor = 0;
		if (there) {
			const double *row = p.rows + (u64)record * sums.d;
			double slope = slope_of(p.family, dot(row, theta, sums.d), p.outcomes[record], p.model[0]);
			factor = row_factor(plan, slope, sum_of_squares(row, sums.d));
		}
		sums.add(p.rows, record, factor);
	}

	DEVICE_METHOD i64 total(u32 j) const { return sums.total(j); }
};
