// The part of a coordinate's prior beyond the normal base that q begins with: the derivative of
// the difference of their log densities. Priors are those of pvi/model in unconstrained
// coordinates, including the logarithm of the transform's derivative.
#pragma once

#include "functions.h"

enum { NOT_BEYOND, STICK, LOG_INVERSE_GAMMA, LOG_HALF_NORMAL, LOG_HALF_CAUCHY };

// The prior of one coordinate; gpu/cuda writes the fields in this order.
struct Beyond {
	u64 kind;
	double first, second; // parameters of the prior
	double mean, sd;      // parameters of the base

	// Returns the derivative at u.
	DEVICE_METHOD double slope(double u) const {
		double prior, square;
		switch (kind) {
		case STICK: // a piece of a symmetric Dirichlet's stick: concentration, and number of pieces that follow
			prior = u - logarithm(second);
			prior = first * logistic(-prior) - first * second * logistic(prior);
			break;
		case LOG_INVERSE_GAMMA: // shape and scale
			prior = second * exponential(-u) - first;
			break;
		case LOG_HALF_NORMAL: // the variance
			prior = 1 - exponential(2 * u) / first;
			break;
		case LOG_HALF_CAUCHY: // the square of the scale
			square = exponential(2 * u);
			prior = 1 - 2 * square / (first + square);
			break;
		default:
			return 0;
		}
		return prior + (u - mean) / sd / sd;
	}
};
