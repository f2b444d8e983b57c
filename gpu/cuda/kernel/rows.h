// dpmech's clipped sum for records whose vectors are multiples of the rows of a table
// (dpmech/rows.go has the proof): clip to an L2 norm, truncate toward zero to whole steps of
// the lattice, add as integers in any order.
#pragma once

#include "plan.h"

// Returns the sum of squares of a row, added in the same order as dpmech adds.
DEVICE double sum_of_squares(const double *v, u32 d) {
	double a = 0, b = 0, c = 0, e = 0;
	u32 j = 0;
	for (; j + 4 <= d; j += 4) {
		a += v[j] * v[j];
		b += v[j + 1] * v[j + 1];
		c += v[j + 2] * v[j + 2];
		e += v[j + 3] * v[j + 3];
	}
	for (; j < d; j++) a += v[j] * v[j];
	return (a + b) + (c + e);
}

DEVICE double dot(const double *x, const double *v, u32 d) {
	double s = 0, t = 0;
	u32 j = 0;
	for (; j + 2 <= d; j += 2) {
		s += x[j] * v[j];
		t += x[j + 1] * v[j + 1];
	}
	if (j < d) s += x[j] * v[j];
	return s + t;
}

// Returns the factor that converts a row of squared norm ss to steps of the clipped slope·row.
// If dpmech has no proof that rounding is harmless, the record adds zero: it is then not
// finite, or hundreds of orders of magnitude smaller or larger than any measurement.
DEVICE double row_factor(const Plan &plan, double slope, double ss) {
	double root = square_root(ss), n = (slope < 0 ? -slope : slope) * root;
	if (!(ss >= 0x1p-900 && ss <= 0x1p1000 && n <= 0x1.fffffffffffffp1023)) return 0;
	if (n <= plan.number(PLAN_LENGTH)) return slope * plan.number(PLAN_PER_STEP);
	double factor = plan.number(PLAN_CLIP) / root * (1 - 0x1p-40);
	return slope < 0 ? -factor : factor;
}

// The sums of d coordinates, each in several parts that different threads add to. It takes
// parts·d words of shared memory, and one and a half for every thread.
struct Sums {
	i64 *sums;       // parts·d
	double *factors; // one for every thread of the block
	u32 *records;
	u32 d, parts;

	DEVICE_METHOD Sums(u64 *memory, u32 dim, u32 threads) : d(dim), parts(threads / dim) {
		if (parts < 1) parts = 1;
		sums = (i64 *)memory;
		factors = (double *)(memory + parts * d);
		records = (u32 *)(factors + threads);
	}

	// Sets all sums to zero. Every thread clears the sums that it adds to.
	DEVICE_METHOD void clear() {
		for (u32 i = thread_index(); i < parts * d; i += block_size()) sums[i] = 0;
	}

	// Adds factor·row for the record of every thread of the block, and nothing if factor is
	// zero.
	DEVICE_METHOD void add(const double *rows, u32 record, double factor) {
		factors[thread_index()] = factor;
		records[thread_index()] = record;
		sync_block();
		for (u32 i = thread_index(); i < parts * d; i += block_size()) {
			u32 j = i % d;
			i64 sum = sums[i];
			for (u32 l = i / d; l < block_size(); l += parts) {
				if (factors[l] != 0) sum += (i64)(rows[(u64)records[l] * d + j] * factors[l]);
			}
			sums[i] = sum;
		}
		sync_block();
	}

	// Returns the sum of coordinate j. All threads must have finished adding.
	DEVICE_METHOD i64 total(u32 j) const {
		i64 sum = 0;
		for (u32 p = 0; p < parts; p++) sum += sums[p * d + j];
		return sum;
	}
};
