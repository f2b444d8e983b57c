// Mixtures of Gaussians with independent variables. The weights of K components are equal or
// given by a stick in the first K−1 coordinates of θ. Every variable has K means, and K
// multiples of the logarithms of standard deviations or one known standard deviation, anywhere
// in θ.
#pragma once

#include "formed.h"

// The model's numbers are K; the number of variables; whether there are weights; the growth of
// the logarithm of a variance in a coordinate of the spread (0 if all are known); the known
// precision; and the first coordinates of the means and of the spreads of each variable.
struct Mixture {
	const double *rows, *numbers;
	u32 components, variables, pieces;
	double growth;
	u32 dense, sparse, kept, shared;

	DEVICE_METHOD explicit Mixture(const Problem &p)
		: rows(p.rows), numbers(p.model), components((u32)p.model[0]), variables((u32)p.model[1]), growth(p.model[3]) {
		pieces = p.model[2] != 0 ? components - 1 : 0;
		dense = pieces + components * variables * (growth != 0 ? 2 : 1);
		sparse = 0;
		kept = components + pieces;
		shared = components * (1 + variables) + 2 * pieces;
	}

	// Return the coordinates of component k of variable v.
	DEVICE_METHOD u32 mean(u32 v, u32 k) const { return (u32)numbers[5 + v] + k; }
	DEVICE_METHOD u32 spread(u32 v, u32 k) const { return (u32)numbers[5 + variables + v] + k; }

	// Computes values of a step: precisions, σ(−z) and σ(z) of the pieces of the stick, and the
	// logarithms of the weights minus those of the standard deviations.
	DEVICE_METHOD void prepare(const double *theta, double *precisions) const {
		double *shares = precisions + components * variables, *weights = shares + 2 * pieces;
		for (u32 i = thread_index(); i < components * variables; i += block_size()) {
			precisions[i] = growth != 0 ? exponential(-growth * theta[spread(i / components, i % components)]) : numbers[4];
		}
		if (thread_index() != 0) return;
		double left = 0;
		for (u32 k = 0; k < components; k++) {
			double log_weight = left;
			if (k < pieces) {
				double z = theta[k] - logarithm(components - 1 - k);
				shares[2 * k] = logistic(-z);
				shares[2 * k + 1] = logistic(z);
				log_weight -= softplus(-z);
				left -= softplus(z);
			}
			for (u32 v = 0; v < variables && growth != 0; v++) log_weight -= growth * theta[spread(v, k)] / 2;
			weights[k] = log_weight;
		}
	}

	// Computes values of a record: the probabilities of the components, and its gradient in the
	// pieces of the stick.
	DEVICE_METHOD void keep(double *p, u32 record, const double *theta, const double *precisions) const {
		const double *shares = precisions + components * variables, *weights = shares + 2 * pieces;
		const double *x = rows + (u64)record * variables;
		double most = 0, sum = 0;
		for (u32 k = 0; k < components; k++) {
			double log = weights[k];
			for (u32 v = 0; v < variables; v++) {
				double off = x[v] - theta[mean(v, k)];
				log -= off * off * precisions[v * components + k] / 2;
			}
			p[k] = log;
			if (k == 0 || log > most) most = log;
		}
		for (u32 k = 0; k < components; k++) sum += p[k] = exponential(p[k] - most);
		for (u32 k = 0; k < components; k++) p[k] /= sum;
		double left = p[components - 1], *stick = p + components;
		for (u32 k = pieces; k-- > 0;) {
			stick[k] = p[k] * shares[2 * k] - left * shares[2 * k + 1];
			left += p[k];
		}
	}

	// Returns element i. Elements are the pieces of the stick, the means, and the spreads,
	// variable by variable.
	DEVICE_METHOD double element(u32 i, const double *p, u32 record, const double *theta, const double *precisions) const {
		if (i < pieces) return p[components + i];
		u32 e = (i - pieces) % (components * variables), v = e / components, k = e % components;
		double off = rows[(u64)record * variables + v] - theta[mean(v, k)], scaled = off * precisions[e];
		return p[k] * (i - pieces == e ? scaled : growth / 2 * (off * scaled - 1));
	}

	DEVICE_METHOD u32 coordinate(u32 i, u32) const {
		if (i < pieces) return i;
		u32 e = (i - pieces) % (components * variables), v = e / components, k = e % components;
		return i - pieces == e ? mean(v, k) : spread(v, k);
	}
};
