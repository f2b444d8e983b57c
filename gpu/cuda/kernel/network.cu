// Steps of an autoencoder: the batches of all steps in one launch, and then for each step load,
// forward through the layers with the latent vectors in between, back, clip, noise, update. Launches
// run in order, and each sees the results of those before it.
#include "update.h"

// Draws the batch of every step, one in each block of whole warps.
KERNEL THREADS(256) void network_batches(const Network *network) {
	const Network &n = *network;
	Plan plan = {n.plan};
	Batch *b = (Batch *)shared_memory;
	const u32 step = block_index();
	begin_batch(plan, step, b);
	u32 *sorted = n.batches + step * (n.rows + 1), *drawn = n.drawn + step * n.rows;
	Feistel feistel((u32)plan.at(PLAN_RECORDS));
	for (u32 x = 0, found = 0; found < b->size; x += block_size()) {
		Member m = next_member(plan, feistel, b, x, found);
		if (m.there) drawn[m.place] = m.record;
	}
	sync_block();
	if (thread_index() == 0) sorted[0] = b->size;
	for (u32 i = thread_index(); i < b->size; i += block_size()) {
		u32 before = 0;
		for (u32 k = 0; k < b->size; k++) before += drawn[k] < drawn[i];
		sorted[1 + before] = drawn[i];
	}
}

// Draws the pixels of the images of a batch and the deviates of latent vectors, one record in
// each block. Begins the step.
KERNEL THREADS(64) void network_load(Network *network) {
	const Network &n = *network;
	Plan plan = {n.plan};
	const u32 step = (u32)n.next, row = block_index(), *batch = n.batch(step), count = batch[0];
	if (row == 0 && thread_index() == 0) {
		network->current = step;
		network->count = count;
	}
	if (row >= count) return;
	const u32 record = batch[1 + row], pixels = (u32)n.pixels, latent = (u32)n.latent;
	const u8 *image = n.images + record * n.image_stride;
	float *x = n.in_row(ENCODER_HIDDEN, row), *deviates = n.deviates + (u64)row * latent;
	const u32 blocks = tiles(pixels, 32);
	u64 words[8];
	for (u32 i = thread_index(); i < blocks + tiles(latent, 8); i += block_size()) {
		if (i < blocks) {
			chacha20_block(words, plan.from(PLAN_DRAWS_KEY), i, FOR_BITS, step, record);
			for (u32 j = 32 * i; j < 32 * i + 32 && j < pixels; j++) {
				u32 value = image[j], u = (u32)(words[j / 4 % 8] >> (j % 4 * 16)) & 0xffff;
				x[j] = u < value * 257 + (value >> 7) ? 1 : 0; // always true for 255, never for 0
			}
			continue;
		}
		u32 from = 8 * (i - blocks);
		chacha20_block(words, plan.from(PLAN_DRAWS_KEY), i - blocks, FOR_DRAWS, step, record);
		for (u32 k = from; k < from + 8 && k < latent; k++) deviates[k] = (float)normal_of(words, k % 8);
	}
	if (thread_index() < LAYERS) n.in_row(thread_index(), row)[n.inputs(thread_index()) - 1] = 1;
}

// Computes a tile of the outputs of a layer, and the values that depend on that tile alone.
KERNEL THREADS(256) void network_forward(const Network *network, u64 layer) {
	const Network &n = *network;
	const u32 l = (u32)layer, count = (u32)n.count, across = tiles(n.outputs(l), TILE_COLUMNS);
	const u32 row = block_index() / across * TILE_ROWS, column = block_index() % across * TILE_COLUMNS;
	if (row >= count) return;
	float sums[2];
	multiply_tile(Along{n.in[l], n.in_stride(l), count}, row, Across{n.weights + n.start(l), n.out_stride(l), n.outputs(l)}, column,
		n.inputs(l), (float *)shared_memory, sums);
	UNROLL for (u32 i = 0; i < 2; i++) {
		Element e(row, column, i);
		if (e.row >= count || e.column >= n.outputs(l)) continue;
		switch (l) {
		case ENCODER_OUTPUT:
			n.out_row(l, e.row)[e.column] = sums[i];
			break;
		case DECODER_OUTPUT: // the derivative of the loss
			n.out_row(l, e.row)[e.column] = (float)logistic(sums[i]) - n.in_row(ENCODER_HIDDEN, e.row)[e.column];
			break;
		default:
			n.in_row(l + 1, e.row)[e.column] = (float)softplus(sums[i]);
			n.slope[l / 2][(u64)e.row * n.out_stride(l) + e.column] = (float)logistic(sums[i]);
		}
	}
}

// Draws the latent vectors, one record in each block. The next load begins the next step.
KERNEL THREADS(64) void network_latent(Network *network) {
	const Network &n = *network;
	const u32 row = block_index(), latent = (u32)n.latent;
	if (row == 0 && thread_index() == 0) network->next = n.current + 1;
	if (row >= n.count) return;
	const float *mean = n.out_row(ENCODER_OUTPUT, row), *log = mean + latent, *deviates = n.deviates + (u64)row * latent;
	float *z = n.in_row(DECODER_HIDDEN, row);
	for (u32 k = thread_index(); k < latent; k += block_size()) z[k] = mean[k] + (float)exponential(log[k]) * deviates[k];
}

// Computes a tile of the derivatives in a layer's inputs, and from them the derivatives in the
// outputs of the layer before.
KERNEL THREADS(256) void network_back(const Network *network, u64 layer) {
	const Network &n = *network;
	const u32 l = (u32)layer, count = (u32)n.count, inputs = n.inputs(l) - 1, across = tiles(inputs, TILE_COLUMNS);
	const u32 row = block_index() / across * TILE_ROWS, column = block_index() % across * TILE_COLUMNS, latent = (u32)n.latent;
	if (row >= count) return;
	float sums[2];
	multiply_tile(Along{n.out[l], n.out_stride(l), count}, row, Along{n.weights + n.start(l), n.out_stride(l), inputs}, column,
		n.outputs(l), (float *)shared_memory, sums);
	UNROLL for (u32 i = 0; i < 2; i++) {
		Element e(row, column, i);
		if (e.row >= count || e.column >= inputs) continue;
		float *before = n.out_row(l - 1, e.row) + e.column;
		if (l != DECODER_HIDDEN) {
			*before = sums[i] * n.slope[(l - 1) / 2][(u64)e.row * n.out_stride(l - 1) + e.column];
			continue;
		}
		// The derivatives of the log likelihood at the latent vector, and of the divergence of
		// q(z | x) from N(0, I).
		float s = (float)exponential(before[latent]);
		before[latent] = sums[i] * n.deviates[(u64)e.row * latent + e.column] * s + s * s - 1;
		*before += sums[i];
	}
}

// Clips the gradient of a record, one in each block: outputs are multiplied by a factor that
// makes its norm at most the mechanism's clip. A gradient that is not finite becomes zero.
KERNEL THREADS(128) void network_clip(const Network *network) {
	const Network &n = *network;
	const u32 row = block_index();
	if (row >= n.count) return;
	double *memory = (double *)shared_memory;
	float *factor = (float *)(memory + 2 * LAYERS * block_size());
	sum_squares(n, row, memory);
	if (thread_index() == 0) {
		double squared = 0;
		bool tame = true;
		for (u32 l = 0; l < LAYERS; l++) {
			double in = memory[2 * l * block_size()];
			tame = tame && in <= MOST_SQUARED_INPUT;
			squared += in * memory[(2 * l + 1) * block_size()];
		}
		*factor = tame ? clip_factor(Plan{n.plan}.number(PLAN_LIMIT), squared) : 0;
	}
	sync_block();
	if (*factor == 1) return;
	for (u32 l = 0; l < LAYERS; l++) {
		float *in = n.in_row(l, row), *out = n.out_row(l, row);
		for (u32 i = thread_index(); i < n.outputs(l); i += block_size()) out[i] = *factor == 0 ? 0 : out[i] * *factor;
		if (*factor != 0) continue;
		for (u32 i = thread_index(); i < n.inputs(l); i += block_size()) in[i] = 0;
	}
}

// Draws the noise of the step.
KERNEL THREADS(256) void network_noise(Network *network) { draw_step(network); }

// Moves a tile of the weights by the sum of the batch's gradients plus the noise.
KERNEL THREADS(256) void network_update(const Network *network) { update_tile<true>(*network); }

// Moves a tile of the weights without privacy: gradients are not clipped and there is no noise.
KERNEL THREADS(256) void network_update_plainly(const Network *network) { update_tile<false>(*network); }
