// Distributions of outcomes given the linear predictor: derivatives of a record's log density
// in the predictor and in the logarithm of the spread of outcomes.
#pragma once

#include "functions.h"

// The Mills ratio (1 − Φ(t))/φ(t) in the middles of intervals of one half.
CONSTANT double MILLS[16] = {
	0x1.09aedf1446de3p+0, 0x1.81510273fa9f7p-1, 0x1.282805b693bb5p-1, 0x1.db73467cf148ep-2,
	0x1.8a6450445bb96p-2, 0x1.4f8ae774d1389p-2, 0x1.233512cf6779ap-2, 0x1.00c785530ab11p-2,
	0x1.cabb94b532c3ap-3, 0x1.9e27375ea4545p-3, 0x1.7941dfedadc79p-3, 0x1.5a417375d8c66p-3,
	0x1.3fdd827dc763bp-3, 0x1.2925128a71ccbp-3, 0x1.1563b113e802cp-3, 0x1.040fc9a11f089p-3,
};

// Returns the Mills ratio M of t ≥ 0: below 8 by its Taylor series, whose coefficients follow
// from M' = tM − 1, and otherwise by Laplace's continued fraction.
FUNCTION double mills(double t) {
	if (!(t < 8)) {
		double fraction = t;
		for (double k = 20; k >= 1; k--) fraction = t + k / fraction;
		return 1 / fraction;
	}
	const u32 k = (u32)(2 * t);
	const double middle = ((double)k + .5) / 2, h = t - middle;
	double before = MILLS[k], now = middle * before - 1, sum = before, power = h;
	for (double n = 1; n < 20; n++) {
		sum += now * power;
		power *= h;
		double next = (middle * now + before) / (n + 1);
		before = now;
		now = next;
	}
	return sum;
}

// φ(x)/Φ(x).
DEVICE double normal_ratio(double x) {
	if (x < 0) return 1 / mills(-x);
	double density = exponential(-.5 * (x * x)) * 0x1.9884533d43651p-2;
	return density / (1 - density * mills(x));
}

// Returns the derivative of log Γ(x), x > 0, by Stirling's series from 12 on.
FUNCTION double digamma(double x) {
	double below = 0;
	for (; x < 12; x++) below += 1 / x;
	double z = 1 / (x * x);
	double series = z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z * (1. / 12)))))));
	return logarithm(x) - .5 / x - series - below;
}

// Returns the derivative of log Γ(x+n) − log Γ(x) for a count n.
DEVICE double rise(double x, double n) {
	if (n > 16) return digamma(x + n) - digamma(x);
	double sum = 0;
	for (double k = 0; k < n; k++) sum += 1 / (x + k);
	return sum;
}

enum { LOGISTIC, LINEAR, POISSON, PROBIT, ROBUST, NEGATIVE_BINOMIAL };

// A family of outcomes with its parameters: the precision of linear outcomes, the precision and
// degrees of freedom of robust ones, φ and its logarithm for negative binomial ones.
struct Outcomes {
	u64 family;
	double degrees, spread, log_spread;

	// Returns the derivative in the predictor. If scale is not null, it receives the derivative
	// in the logarithm of the standard deviation, of the scale or of φ.
	DEVICE_METHOD double slope(double eta, double y, double *scale) const {
		switch (family) {
		case LOGISTIC: return y - logistic(eta);
		case POISSON: return y - exponential(eta);
		case PROBIT: return y > 0 ? normal_ratio(eta) : -normal_ratio(-eta);
		case NEGATIVE_BINOMIAL: {
			double x = eta - log_spread, share = logistic(x); // the share of μ in μ + φ
			if (scale) *scale = spread * (rise(spread, y) - softplus(x)) + (y + spread) * share - y;
			return y - (y + spread) * share;
		}
		}
		double weight = spread, square = (y - eta) * (y - eta) * spread;
		if (family == ROBUST) {
			double w = (degrees + 1) / (degrees + square);
			weight *= w;
			square *= w;
		}
		if (scale) *scale = square - 1;
		return (y - eta) * weight;
	}
};
