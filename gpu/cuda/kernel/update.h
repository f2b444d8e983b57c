// The clipped sum of a batch of a network, its noise and a step of Adam: dpmech.ProductRun and
// internal/math32, tile by tile.
#pragma once

#include "network.h"

#define MOST_SQUARED_INPUT 0x1p180

// Sums the squares of a record's inputs and outputs of all layers, the same every time. Sum i is
// that of vector i, inputs and outputs of the first layer first, and is written to
// memory[i·block_size()]. memory has a number of each vector for each thread; the number of
// threads is a power of two. The relative error is at most 2^-37, as squares are exact and a
// vector has at most 2^16 elements.
DEVICE void sum_squares(const Network &n, u32 row, double *memory) {
	enum { VECTORS = 2 * LAYERS };
	const u32 width = block_size(), thread = thread_index();
	const float *vectors[VECTORS];
	u32 counts[VECTORS], most = 0;
	double sums[VECTORS] = {};
	UNROLL for (u32 i = 0; i < VECTORS; i++) {
		vectors[i] = i % 2 ? n.out_row(i / 2, row) : n.in_row(i / 2, row);
		counts[i] = i % 2 ? n.outputs(i / 2) : n.inputs(i / 2);
		if (most < counts[i]) most = counts[i];
	}
	// The vectors are read side by side, so that a thread does not wait for one number at a time.
	for (u32 k = thread; k < most; k += width) {
		UNROLL for (u32 i = 0; i < VECTORS; i++) {
			double x = k < counts[i] ? vectors[i][k] : 0;
			sums[i] += x * x;
		}
	}
	UNROLL for (u32 i = 0; i < VECTORS; i++) memory[i * width + thread] = sums[i];
	for (u32 half = width / 2; half > 0; half /= 2) {
		sync_block();
		if (thread >= half) continue;
		UNROLL for (u32 i = 0; i < VECTORS; i++) memory[i * width + thread] += memory[i * width + thread + half];
	}
	sync_block();
}

// Returns the factor of outputs, as dpmech's ProductSum.factor, whose error is accounted for.
DEVICE float clip_factor(double limit, double squared) {
	double root = square_root(squared);
	if (root <= limit) return 1;
	return limit / root >= 0x1p-100 ? (float)(limit / root) : 0; // neither infinite nor NaN
}

// Returns the integer nearest to x, ties to even; |x| < 2^51.
DEVICE i64 round_to_even(double x) { return (i64)((x + 0x1.8p52) - 0x1.8p52); }

// Draws the noise of a step. Each thread takes eight samples from a block of words. Few samples
// need more words, and these take much longer. So that no other thread waits for one of them,
// they are listed in shared memory, which has room for eight numbers for each thread, and the
// first threads then compute one each.
DEVICE void draw_step(Network *network) {
	const Network &n = *network;
	Plan plan = {n.plan};
	u64 *listed = shared_memory;
	u32 *list = (u32 *)(listed + 1);
	const u32 step = (u32)n.current, all = n.samples();
	if (thread_index() == 0) *listed = 0;
	sync_block();
	const u32 first = (u32)global_index() * 8;
	if (first < all) {
		u64 words[8];
		chacha20_block(words, plan.from(PLAN_NOISE_KEY), first / 8, FOR_NOISE, step, 0);
		for (u32 i = 0; i < n.used(first); i++) {
			if (sample_of(plan, words[i], n.noise[first + i])) continue;
			n.noise[first + i] = (i64)words[i];
			list[add_atomically(listed, 1)] = first + i;
		}
	}
	sync_block();
	for (u32 i = thread_index(); i < *listed; i += block_size()) {
		const u32 j = list[i];
		i64 x;
		if (!noise_of(plan, step, j, (u64)n.noise[j], x)) network->open = open_sample(step, j);
		n.noise[j] = x;
	}
}

// Moves the weight of sample j by a gradient, as math32.AdamStep does.
DEVICE void descend(const Network &n, u32 step, u64 j, float gradient) {
	float g = gradient * (float)n.scale;
	n.first[j] += (float)n.decay1 * (g - n.first[j]);
	n.second[j] += (float)n.decay2 * (g * g - n.second[j]);
	float root = square_root(n.second[j] * n.moves[2 * step + 1]);
	n.weights[j] -= n.moves[2 * step] * n.first[j] / (root + (float)n.epsilon);
}

// Returns the sum over records beyond those of the product for an element, in steps of the
// lattice.
FUNCTION i64 beyond(const Network &n, u32 layer, u32 row, u32 column, u32 from, double per_step) {
	i64 sum = 0;
	for (u32 k = from; k < (u32)n.count; k++) {
		sum += (i64)((double)n.in_row(layer, k)[row] * (double)n.out_row(layer, k)[column] * per_step);
	}
	return sum;
}

// Moves a tile of the weights of a layer. Blocks number the tiles of all layers, one layer
// after another.
template <bool hide> DEVICE void update_tile(const Network &n) {
	u32 layer = 0, block = block_index();
	for (;; layer++) {
		u32 of_layer = tiles(n.inputs(layer), TILE_ROWS) * tiles(n.outputs(layer), TILE_COLUMNS);
		if (block < of_layer) break;
		block -= of_layer;
	}
	const u32 across = tiles(n.outputs(layer), TILE_COLUMNS), step = (u32)n.current;
	const u32 row = block / across * TILE_ROWS, column = block % across * TILE_COLUMNS;
	float *memory = (float *)shared_memory, sums[2];
	Plan plan = {n.plan};
	u32 together = (u32)n.count;
	if (hide && together > plan.number(PLAN_TOGETHER)) together = (u32)plan.number(PLAN_TOGETHER);
	multiply_tile(Across{n.in[layer], n.in_stride(layer), n.inputs(layer)}, row, Across{n.out[layer], n.out_stride(layer), n.outputs(layer)},
		column, together, memory, sums);
	UNROLL for (u32 i = 0; i < 2; i++) {
		Element e(row, column, i);
		if (e.row >= n.inputs(layer) || e.column >= n.outputs(layer)) continue;
		const u64 j = n.start(layer) + (u64)e.row * n.out_stride(layer) + e.column;
		float gradient = sums[i];
		if (hide) {
			const double per_step = plan.number(PLAN_PER_STEP);
			i64 release = round_to_even((double)sums[i] * per_step) + n.noise[j];
			release += beyond(n, layer, e.row, e.column, together, per_step);
			if (n.releases) n.releases[(u64)step * n.samples() + j] = release;
			gradient = (float)((double)release * plan.number(PLAN_STEP));
		}
		descend(n, step, j, gradient);
	}
}
