// Products of matrices of float32 numbers. Each block of threads computes a tile of the result.
//
// A warp takes every eighth slice of sixteen terms, and the eight sums are added in order, so a
// tile is the same every time. An element of a sum of n terms takes part in at most n
// roundings, as dpmech assumes of a clipped sum (math32.SumError): one for each fused term of
// its slices, and one for each other warp that has a term. Absent terms are zeros, and adding
// them rounds nothing.
#pragma once

#include "prelude.h"

enum {
	TILE_ROWS = 16,
	TILE_COLUMNS = 32,
	TILE_TERMS = 128, // in shared memory at once
	TILE_THREADS = 256,
	TILE_SIZE = TILE_ROWS * TILE_COLUMNS,
	SLICES = TILE_THREADS / 32,
	SLICE_TERMS = TILE_TERMS / SLICES,
	// Distances of terms in shared memory: multiples of four that keep most threads in
	// different banks.
	LEFT_STRIDE = TILE_ROWS + 4,
	RIGHT_STRIDE = TILE_COLUMNS + 4,
	TILE_FLOATS = TILE_TERMS * (LEFT_STRIDE + RIGHT_STRIDE), // size of the memory; more than SLICES·TILE_SIZE
};

struct alignas(16) Four {
	float at[4];
};

// A factor of a product has a vector of terms for each row of the left factor, or for each
// column of the right one. In Along the terms of a vector lie beside each other. Vectors beyond
// the first vectors ones are zero.
struct Along {
	const float *numbers;
	u32 stride, vectors;

	DEVICE_METHOD float at(u32 vector, u32 term, u32 terms) const {
		return vector < vectors && term < terms ? numbers[(u64)vector * stride + term] : 0;
	}
	// Returns the vector of element i among count vectors. Neighbours in memory have
	// neighbouring numbers.
	template <u32 count> DEVICE_METHOD static u32 vector(u32 i) { return i / TILE_TERMS; }
	template <u32 count> DEVICE_METHOD static u32 term(u32 i) { return i % TILE_TERMS; }
};

// In Across the numbers of all vectors for one term lie beside each other.
struct Across {
	const float *numbers;
	u32 stride, vectors;

	DEVICE_METHOD float at(u32 vector, u32 term, u32 terms) const {
		return vector < vectors && term < terms ? numbers[(u64)term * stride + vector] : 0;
	}
	template <u32 count> DEVICE_METHOD static u32 vector(u32 i) { return i % count; }
	template <u32 count> DEVICE_METHOD static u32 term(u32 i) { return i / count; }
};

// The numbers of a factor's next terms that a thread loads.
template <class Factor, u32 count, u32 stride> struct Brought {
	static constexpr u32 each = count * TILE_TERMS / TILE_THREADS;
	float numbers[each];

	DEVICE_METHOD void fetch(const Factor &f, u32 first, u32 from, u32 terms) {
		UNROLL for (u32 i = 0; i < each; i++) {
			u32 k = i * TILE_THREADS + thread_index();
			numbers[i] = f.at(first + Factor::template vector<count>(k), from + Factor::template term<count>(k), terms);
		}
	}

	DEVICE_METHOD void store(float *to) const {
		UNROLL for (u32 i = 0; i < each; i++) {
			u32 k = i * TILE_THREADS + thread_index();
			to[Factor::template term<count>(k) * stride + Factor::template vector<count>(k)] = numbers[i];
		}
	}
};

// Multiplies the vectors of left from row on by those of right from column on. sums receives
// elements thread and thread + TILE_THREADS of the tile, row after row. memory is TILE_FLOATS
// numbers of shared memory. No thread may use it before or after while others are here.
template <class Left, class Right>
DEVICE void multiply_tile(const Left &left, u32 row, const Right &right, u32 column, u32 terms, float *memory, float sums[2]) {
	float *a = memory, *b = memory + TILE_TERMS * LEFT_STRIDE;
	const u32 thread = thread_index(), slice = thread / 32, r = thread % 32 / 8 * 4, c = thread % 8 * 4;
	Brought<Left, TILE_ROWS, LEFT_STRIDE> from_left;
	Brought<Right, TILE_COLUMNS, RIGHT_STRIDE> from_right;
	float sum[4][4] = {};
	from_left.fetch(left, row, 0, terms);
	from_right.fetch(right, column, 0, terms);
	for (u32 from = 0; from < terms; from += TILE_TERMS) {
		from_left.store(a);
		from_right.store(b);
		sync_block();
		if (from + TILE_TERMS < terms) { // loaded while these are multiplied
			from_left.fetch(left, row, from + TILE_TERMS, terms);
			from_right.fetch(right, column, from + TILE_TERMS, terms);
		}
		// A slice without terms adds zeros.
		if (from + slice * SLICE_TERMS < terms) UNROLL_FOUR for (u32 k = 0; k < SLICE_TERMS; k++) {
			u32 term = slice * SLICE_TERMS + k;
			Four x = *(const Four *)(a + term * LEFT_STRIDE + r), y = *(const Four *)(b + term * RIGHT_STRIDE + c);
			UNROLL for (int i = 0; i < 4; i++) {
				UNROLL for (int j = 0; j < 4; j++) sum[i][j] = fused(x.at[i], y.at[j], sum[i][j]);
			}
		}
		sync_block();
	}
	UNROLL for (int i = 0; i < 4; i++) {
		UNROLL for (int j = 0; j < 4; j++) memory[slice * TILE_SIZE + (r + i) * TILE_COLUMNS + c + j] = sum[i][j];
	}
	sync_block();
	UNROLL for (u32 n = 0; n < 2; n++) {
		u32 e = n * TILE_THREADS + thread;
		sums[n] = memory[e];
		for (u32 w = 1; w < SLICES; w++) sums[n] += memory[w * TILE_SIZE + e];
	}
	sync_block();
}
