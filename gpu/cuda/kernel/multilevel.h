// Regressions whose intercept and some slopes vary between groups, non-centred
// (model.Multilevel): coefficients, the intercept if there is one, for everything that
// varies the logarithm of its standard deviation τ and a deviation z of every group, and,
// where outcomes are real numbers, the logarithm of their standard deviation.
#pragma once

#include "formed.h"
#include "regression.h"

// The model's numbers are those of features, of intercepts (0 or 1), of groups, and of what
// varies; then the features whose slopes vary. A row has the features, and then the
// number of the group.
struct Multilevel {
	const double *rows, *outcomes, *slopes;
	u64 family;
	u32 features, intercept, groups, vary, scale;
	u32 dense, sparse, kept, shared;

	DEVICE_METHOD explicit Multilevel(const Problem &p) : rows(p.rows), outcomes(p.outcomes), slopes(p.model + 4), family(p.family) {
		features = (u32)p.model[0], intercept = (u32)p.model[1], groups = (u32)p.model[2], vary = (u32)p.model[3];
		scale = family == LINEAR;
		dense = features + intercept + vary + scale;
		sparse = vary;
		kept = 2;
		shared = vary + scale;
	}

	DEVICE_METHOD u32 deviation(u32 e) const { return features + intercept + e * (1 + groups); } // its τ
	DEVICE_METHOD u32 group(u32 record) const { return (u32)rows[(u64)record * (features + 1) + features]; }

	// What multiplies deviation e in a record's predictor.
	DEVICE_METHOD double carrier(u32 e, u32 record) const {
		return e == 0 ? 1 : rows[(u64)record * (features + 1) + (u32)slopes[e - 1]];
	}

	// Kept of a step: every τ, and the precision of real outcomes.
	DEVICE_METHOD void prepare(const double *theta, double *tau) const {
		for (u32 e = thread_index(); e < vary; e += block_size()) tau[e] = exponential(theta[deviation(e)]);
		if (scale && thread_index() == 0) tau[vary] = exponential(-2 * theta[deviation(vary)]);
	}

	// Kept of a record: its derivative in the predictor, and in the logarithm of the
	// standard deviation of outcomes.
	DEVICE_METHOD void keep(double *own, u32 record, const double *theta, const double *tau) const {
		const double *row = rows + (u64)record * (features + 1);
		double eta = intercept ? theta[features] : 0;
		for (u32 j = 0; j < features; j++) eta += row[j] * theta[j];
		u32 g = group(record);
		for (u32 e = 0; e < vary; e++) eta += tau[e] * theta[deviation(e) + 1 + g] * carrier(e, record);
		double y = outcomes[record], precision = scale ? tau[vary] : 1;
		own[0] = slope_of(family, eta, y, precision);
		own[1] = (y - eta) * (y - eta) * precision - 1;
	}

	DEVICE_METHOD double element(u32 i, const double *own, u32 record, const double *theta, const double *tau) const {
		if (i < features) return own[0] * rows[(u64)record * (features + 1) + i];
		i -= features;
		if (i < intercept) return own[0];
		i -= intercept;
		if (i < vary) return own[0] * carrier(i, record) * tau[i] * theta[deviation(i) + 1 + group(record)];
		i -= vary;
		if (i < scale) return own[1];
		i -= scale;
		return own[0] * carrier(i, record) * tau[i];
	}

	DEVICE_METHOD u32 coordinate(u32 i, u32 record) const {
		if (i < features + intercept) return i;
		i -= features + intercept;
		if (i < vary + scale) return deviation(i);
		return deviation(i - vary - scale) + 1 + group(record);
	}
};
