// Mixtures of Gaussians with independent variables (model.Mixture): K−1 coordinates of the
// weights by breaking a stick, then the means of each variable in the K components, and the
// logarithms of the variances.
#pragma once

#include "formed.h"

// The model's numbers are K and the number of variables.
struct Mixture {
	const double *rows;
	u32 components, variables;
	u32 dense, sparse, kept, shared;

	DEVICE_METHOD explicit Mixture(const Problem &p) : rows(p.rows), components((u32)p.model[0]), variables((u32)p.model[1]) {
		dense = components - 1 + 2 * components * variables;
		sparse = 0;
		kept = 2 * components - 1;
		shared = components * (1 + variables) + 2 * (components - 1);
	}

	DEVICE_METHOD const double *means(const double *theta) const { return theta + components - 1; }
	DEVICE_METHOD const double *variances(const double *theta) const { return means(theta) + components * variables; }

	// Kept of a step: precisions, σ(−z) and σ(z) of the pieces of the stick, and the
	// logarithms of the weights less those of the standard deviations.
	DEVICE_METHOD void prepare(const double *theta, double *precisions) const {
		double *pieces = precisions + components * variables, *weights = pieces + 2 * (components - 1);
		for (u32 i = thread_index(); i < components * variables; i += block_size()) precisions[i] = exponential(-variances(theta)[i]);
		if (thread_index() != 0) return;
		double left = 0;
		for (u32 k = 0; k < components; k++) {
			double log_weight = left;
			if (k < components - 1) {
				double z = theta[k] - logarithm(components - 1 - k);
				pieces[2 * k] = logistic(-z);
				pieces[2 * k + 1] = logistic(z);
				log_weight -= softplus(-z);
				left -= softplus(z);
			}
			for (u32 v = 0; v < variables; v++) log_weight -= variances(theta)[v * components + k] / 2;
			weights[k] = log_weight;
		}
	}

	// Kept of a record: the probabilities of the components, and its gradient in the pieces
	// of the stick.
	DEVICE_METHOD void keep(double *p, u32 record, const double *theta, const double *precisions) const {
		const double *pieces = precisions + components * variables, *weights = pieces + 2 * (components - 1);
		const double *x = rows + (u64)record * variables;
		double most = 0, sum = 0;
		for (u32 k = 0; k < components; k++) {
			double log = weights[k];
			for (u32 v = 0; v < variables; v++) {
				double off = x[v] - means(theta)[v * components + k];
				log -= off * off * precisions[v * components + k] / 2;
			}
			p[k] = log;
			if (k == 0 || log > most) most = log;
		}
		for (u32 k = 0; k < components; k++) sum += p[k] = exponential(p[k] - most);
		for (u32 k = 0; k < components; k++) p[k] /= sum;
		double left = p[components - 1], *stick = p + components;
		for (u32 k = components - 1; k-- > 0;) {
			stick[k] = p[k] * pieces[2 * k] - left * pieces[2 * k + 1];
			left += p[k];
		}
	}

	DEVICE_METHOD double element(u32 i, const double *p, u32 record, const double *theta, const double *precisions) const {
		if (i < components - 1) return p[components + i];
		u32 e = i - (components - 1), of = components * variables;
		bool spread = e >= of;
		if (spread) e -= of;
		double off = rows[(u64)record * variables + e / components] - means(theta)[e], scaled = off * precisions[e];
		return p[e % components] * (spread ? (off * scaled - 1) / 2 : scaled);
	}

	DEVICE_METHOD u32 coordinate(u32 i, u32) const { return i; }
};
