// Regressions with effects that vary between groups, non-centred: η is x·β, plus, for every
// effect, τ·z of the record's group times the effect's carrier. The coefficients β are the
// first coordinates of θ. An effect has the logarithm of its standard deviation τ and a
// deviation z for every group somewhere in θ. The logarithm of the outcomes' spread may be a
// coordinate too.
#pragma once

#include "formed.h"
#include "regression.h"

// The model's numbers are the precision of linear outcomes, if it is known; the degrees of
// freedom of robust ones; the number of coefficients; the number of effects; the coordinate of
// the outcomes' spread (negative if there is none); and for every effect the coordinates of τ
// and of the first group's z. A row has the features, and for every effect the number of the
// group and the carrier.
struct Multilevel {
	const double *rows, *outcomes, *numbers;
	u64 family;
	u32 features, effects, scale; // scale is 0 or 1
	u32 dense, sparse, kept, shared;

	DEVICE_METHOD explicit Multilevel(const Problem &p) : rows(p.rows), outcomes(p.outcomes), numbers(p.model), family(p.family) {
		features = (u32)p.model[2], effects = (u32)p.model[3], scale = p.model[4] >= 0;
		dense = features + effects + scale;
		sparse = effects;
		kept = 2;
		shared = effects + 2;
	}

	DEVICE_METHOD const double *row(u32 record) const { return rows + (u64)record * (features + 2 * effects); }
	DEVICE_METHOD u32 spread(u32 e) const { return (u32)numbers[5 + 2 * e]; }
	DEVICE_METHOD u32 deviation(u32 e, u32 record) const { return (u32)numbers[6 + 2 * e] + (u32)row(record)[features + 2 * e]; }
	DEVICE_METHOD double carrier(u32 e, u32 record) const { return row(record)[features + 2 * e + 1]; }

	// Computes values of a step: every τ, the precision of linear outcomes or φ, and its
	// logarithm.
	DEVICE_METHOD void prepare(const double *theta, double *tau) const {
		for (u32 e = thread_index(); e < effects; e += block_size()) tau[e] = exponential(theta[spread(e)]);
		if (thread_index() != 0) return;
		tau[effects] = numbers[0];
		if (scale) {
			double log = theta[(u32)numbers[4]];
			tau[effects] = exponential(family == NEGATIVE_BINOMIAL ? log : -2 * log);
			tau[effects + 1] = log;
		}
	}

	// Computes values of a record: its derivatives in the predictor and in the coordinate of
	// the spread.
	DEVICE_METHOD void keep(double *own, u32 record, const double *theta, const double *tau) const {
		double eta = dot(row(record), theta, features);
		for (u32 e = 0; e < effects; e++) eta += tau[e] * theta[deviation(e, record)] * carrier(e, record);
		Outcomes of = {family, numbers[1], tau[effects], tau[effects + 1]};
		own[0] = of.slope(eta, outcomes[record], scale ? &own[1] : nullptr);
	}

	// Returns element i. Elements are the coefficients, the effects' τ, the outcomes' spread,
	// and the z of the record's groups.
	DEVICE_METHOD double element(u32 i, const double *own, u32 record, const double *theta, const double *tau) const {
		if (i < features) return own[0] * row(record)[i];
		i -= features;
		if (i < effects) return own[0] * carrier(i, record) * tau[i] * theta[deviation(i, record)];
		i -= effects;
		if (i < scale) return own[1];
		i -= scale;
		return own[0] * carrier(i, record) * tau[i];
	}

	DEVICE_METHOD u32 coordinate(u32 i, u32 record) const {
		if (i < features) return i;
		i -= features;
		if (i < effects) return spread(i);
		i -= effects;
		if (i < scale) return (u32)numbers[4];
		return deviation(i - scale, record);
	}
};
