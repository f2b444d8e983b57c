// The clipped sum of a batch of a network, its noise and a step of Adam: dpmech.ProductRun and
// internal/math32, tile by tile.
#pragma once

#include "network.h"

#define MOST_SQUARED_INPUT 0x1p180

// Returns the sum of the squares of v in every thread, the same every time. memory has a number
// for each thread; the number of threads is a power of two. The relative error is at most
// 2^-37, as squares are exact and count is at most 2^16.
DEVICE double block_squares(const float *v, u32 count, double *memory) {
	double sum = 0;
	for (u32 i = thread_index(); i < count; i += block_size()) sum += (double)v[i] * (double)v[i];
	memory[thread_index()] = sum;
	sync_block();
	for (u32 half = block_size() / 2; half > 0; half /= 2) {
		if (thread_index() < half) memory[thread_index()] += memory[thread_index() + half];
		sync_block();
	}
	sum = memory[0];
	sync_block();
	return sum;
}

// Returns the factor of outputs, as dpmech's ProductSum.factor, whose error is accounted for.
DEVICE float clip_factor(double limit, double squared) {
	double root = square_root(squared);
	if (root <= limit) return 1;
	return limit / root >= 0x1p-100 ? (float)(limit / root) : 0; // neither infinite nor NaN
}

// Returns the integer nearest to x, ties to even; |x| < 2^51.
DEVICE i64 round_to_even(double x) { return (i64)((x + 0x1.8p52) - 0x1.8p52); }

// Draws the noise of a tile. Each of the first threads takes eight samples from a block of
// words.
DEVICE void fill_noise(Network *network, u32 step, u32 layer, u32 first_row, u32 first_column, i64 *hidden) {
	const Network &n = *network;
	const u32 row = thread_index() / (TILE_COLUMNS / 8), column = thread_index() % (TILE_COLUMNS / 8) * 8;
	if (thread_index() >= TILE_SIZE / 8 || first_row + row >= n.inputs(layer) || first_column + column >= n.outputs(layer)) return;
	Plan plan = {n.plan};
	const u32 j = (u32)(n.start(layer) + (u64)(first_row + row) * n.out_stride(layer) + first_column + column);
	u64 words[8];
	chacha20_block(words, plan.from(PLAN_NOISE_KEY), j / 8, FOR_NOISE, step, 0);
	for (u32 i = 0; i < 8 && first_column + column + i < n.outputs(layer); i++) {
		i64 x;
		if (!noise_of(plan, step, j + i, words[i], x)) network->open = open_sample(step, j + i);
		hidden[row * TILE_COLUMNS + column + i] = x;
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
template <bool hide> DEVICE void update_tile(Network *network) {
	const Network &n = *network;
	u32 layer = 0, block = block_index();
	for (;; layer++) {
		u32 of_layer = tiles(n.inputs(layer), TILE_ROWS) * tiles(n.outputs(layer), TILE_COLUMNS);
		if (block < of_layer) break;
		block -= of_layer;
	}
	const u32 across = tiles(n.outputs(layer), TILE_COLUMNS), step = (u32)n.current;
	const u32 row = block / across * TILE_ROWS, column = block % across * TILE_COLUMNS;
	i64 *hidden = (i64 *)shared_memory;
	float *memory = (float *)(hidden + (hide ? TILE_SIZE : 0)), sums[2];
	Plan plan = {n.plan};
	u32 together = (u32)n.count;
	if (hide) {
		if (together > plan.number(PLAN_TOGETHER)) together = (u32)plan.number(PLAN_TOGETHER);
		fill_noise(network, step, layer, row, column, hidden);
	}
	multiply_tile(Across{n.in[layer], n.in_stride(layer), n.inputs(layer)}, row, Across{n.out[layer], n.out_stride(layer), n.outputs(layer)},
		column, together, memory, sums);
	UNROLL for (u32 i = 0; i < 2; i++) {
		Element e(row, column, i);
		if (e.row >= n.inputs(layer) || e.column >= n.outputs(layer)) continue;
		const u64 j = n.start(layer) + (u64)e.row * n.out_stride(layer) + e.column;
		float gradient = sums[i];
		if (hide) {
			const double per_step = plan.number(PLAN_PER_STEP);
			i64 release = round_to_even((double)sums[i] * per_step) + hidden[i * TILE_THREADS + thread_index()];
			release += beyond(n, layer, e.row, e.column, together, per_step);
			if (n.releases) n.releases[step * (n.start(LAYERS - 1) + (u64)n.inputs(LAYERS - 1) * n.out_stride(LAYERS - 1)) + j] = release;
			gradient = (float)((double)release * plan.number(PLAN_STEP));
		}
		descend(n, step, j, gradient);
	}
}
