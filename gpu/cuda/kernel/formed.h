// dpmech's clipped sum for records whose vectors are formed, element by element (dpmech/gate.go
// has the proof): clip to an L2 norm, truncate toward zero to whole steps of the lattice, add
// as integers in any order.
#pragma once

#include "steps.h"

// Returns the factor that clips a vector of squared norm ss and converts it to steps. A vector
// just within the clip, for which dpmech would check whether it needs shortening, is always
// shortened here. A vector that is not finite, or whose square is not, adds zero.
DEVICE double vector_factor(const Plan &plan, double ss) {
	double length = plan.number(PLAN_CLIP) * plan.number(PLAN_STEP);
	if (ss <= length * length * (1 - 0x1p-38)) return plan.number(PLAN_PER_STEP);
	if (!(ss <= 0x1.fffffffffffffp1023)) return 0;
	return plan.number(PLAN_CLIP) / square_root(ss) * (1 - 0x1p-40);
}

// A model whose records have vectors of a few elements. A Shape describes the model and has
//
//	dense, sparse    the numbers of elements whose coordinate is the same in all records, and of
//	                 the other elements; together at most 1024
//	kept             how many numbers a record keeps
//	shared           how many numbers a step keeps
//	void prepare(theta, shared)              computes a step's numbers; all threads call it
//	void keep(kept, record, theta, shared)   computes a record's numbers
//	double element(i, kept, record, theta, shared)
//	u32 coordinate(i, record)
template <class Shape> struct Formed {
	const Plan &plan;
	Shape shape;
	u32 d, parts;
	double *shared, *kept, *factors; // factors has one for every thread of the block
	u32 *records;
	i64 *dense; // parts·shape.dense
	i64 *sums;  // d sums: of sparse elements first, of all elements at the end

	DEVICE_METHOD Formed(const Problem &problem, const Plan &of, u32 dim, u64 *memory) : plan(of), shape(problem), d(dim) {
		u32 threads = block_size();
		parts = threads / shape.dense;
		if (parts < 1) parts = 1;
		shared = (double *)memory;
		kept = shared + shape.shared;
		factors = kept + threads * shape.kept;
		sums = (i64 *)(factors + threads);
		dense = sums + d;
		records = (u32 *)(dense + parts * shape.dense);
	}

	DEVICE_METHOD void begin(const double *theta) {
		shape.prepare(theta, shared);
		for (u32 j = thread_index(); j < d; j += block_size()) sums[j] = 0;
		for (u32 i = thread_index(); i < parts * shape.dense; i += block_size()) dense[i] = 0;
	}

	DEVICE_METHOD void look(bool there, u32 record, const double *theta) {
		const u32 t = thread_index(), elements = shape.dense + shape.sparse;
		double factor = 0, *own = kept + t * shape.kept;
		if (there) {
			shape.keep(own, record, theta, shared);
			double ss = 0;
			for (u32 i = 0; i < elements; i++) {
				double x = shape.element(i, own, record, theta, shared);
				ss += x * x;
			}
			factor = vector_factor(plan, ss);
		}
		factors[t] = factor;
		records[t] = record;
		if (factor != 0) {
			for (u32 i = shape.dense; i < elements; i++) {
				i64 n = (i64)(shape.element(i, own, record, theta, shared) * factor);
				add_atomically((u64 *)&sums[shape.coordinate(i, record)], (u64)n);
			}
		}
		sync_block();
		for (u32 k = t; k < parts * shape.dense; k += block_size()) {
			u32 i = k % shape.dense;
			i64 sum = dense[k];
			for (u32 l = k / shape.dense; l < block_size(); l += parts) {
				if (factors[l] == 0) continue;
				sum += (i64)(shape.element(i, kept + l * shape.kept, records[l], theta, shared) * factors[l]);
			}
			dense[k] = sum;
		}
		sync_block();
	}

	DEVICE_METHOD i64 total(u32 j) const {
		i64 sum = sums[j];
		for (u32 i = 0; i < shape.dense; i++) {
			if (shape.coordinate(i, 0) != j) continue;
			for (u32 p = 0; p < parts; p++) sum += dense[p * shape.dense + i];
		}
		return sum;
	}
};
