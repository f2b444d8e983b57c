// The variational autoencoder of gpu/vae. It processes a batch at a time, in matrices with a
// row for each record.
#pragma once

#include "batch.h"
#include "gaussian.h"
#include "product.h"

enum { ENCODER_HIDDEN, ENCODER_OUTPUT, DECODER_HIDDEN, DECODER_OUTPUT, LAYERS };

// Places in the words of a dpmech.ProductPlan that differ from those of other plans.
enum {
	PLAN_LIMIT = PLAN_CLIP,     // the largest norm that is not shortened
	PLAN_TOGETHER = PLAN_LENGTH // number of records of a batch that are added as floats
};

// A network, its records, and the state of its steps; gpu/cuda writes the fields in this order.
// Rows of matrices have a multiple of eight elements. Weights are in rows, layer after layer,
// numbered as the plan's samples are.
struct Network {
	const u64 *plan;
	const u8 *images; // pixels bytes each, image_stride apart
	u64 image_stride, pixels, hidden, latent;
	u64 rows;           // room for records of a batch
	u32 *drawn;         // for each step, rows records in the order of drawing
	u32 *batches;       // for each step, a size and rows sorted records
	const float *moves; // for each step of Adam: the rate over 1−β₁ᵗ, and 1/(1−β₂ᵗ)
	float *weights, *first, *second;
	float *in[LAYERS];  // inputs of the layers, with the 1 last
	float *out[LAYERS]; // outputs, then derivatives of the loss in them
	float *slope[2];    // slopes of the units after the hidden layers
	float *deviates;    // standard normal numbers
	i64 *releases;      // for each step, a number for each sample, or null
	i64 *noise;         // the samples of the present step
	double decay1, decay2, epsilon, scale; // of Adam: 1−β₁, 1−β₂, ε; the factor of gradients
	u64 open;      // an undecided sample, which dpmech has to decide, or 0
	u64 next;      // the step that the next load begins
	u64 current;   // the present step
	u64 count;     // number of records in its batch

	DEVICE_METHOD u32 inputs(u32 layer) const {
		return (u32)(layer == ENCODER_HIDDEN ? pixels : layer == DECODER_HIDDEN ? latent : hidden) + 1;
	}
	DEVICE_METHOD u32 outputs(u32 layer) const {
		return (u32)(layer == ENCODER_OUTPUT ? 2 * latent : layer == DECODER_OUTPUT ? pixels : hidden);
	}
	DEVICE_METHOD static u32 eights(u32 n) { return (n + 7) / 8 * 8; }
	DEVICE_METHOD u32 in_stride(u32 layer) const { return eights(inputs(layer)); }
	DEVICE_METHOD u32 out_stride(u32 layer) const { return eights(outputs(layer)); }
	DEVICE_METHOD u64 start(u32 layer) const {
		u64 at = 0;
		for (u32 l = 0; l < layer; l++) at += (u64)inputs(l) * out_stride(l);
		return at;
	}
	DEVICE_METHOD u32 samples() const { return (u32)(start(LAYERS - 1) + (u64)inputs(LAYERS - 1) * out_stride(LAYERS - 1)); }
	// Returns how many of the eight samples from a multiple of eight on are those of weights. The
	// others are padding.
	DEVICE_METHOD u32 used(u32 first) const {
		u32 layer = LAYERS - 1;
		while (first < start(layer)) layer--;
		u32 left = outputs(layer) - (u32)(first - start(layer)) % out_stride(layer);
		return left < 8 ? left : 8;
	}
	DEVICE_METHOD float *in_row(u32 layer, u32 row) const { return in[layer] + (u64)row * in_stride(layer); }
	DEVICE_METHOD float *out_row(u32 layer, u32 row) const { return out[layer] + (u64)row * out_stride(layer); }
	DEVICE_METHOD const u32 *batch(u64 step) const { return batches + step * (rows + 1); }
};

DEVICE u32 tiles(u32 n, u32 size) { return (n + size - 1) / size; }

// An element of a tile that a thread computes.
struct Element {
	u32 row, column;

	DEVICE_METHOD Element(u32 first_row, u32 first_column, u32 n)
		: row(first_row + (n * TILE_THREADS + thread_index()) / TILE_COLUMNS), column(first_column + thread_index() % TILE_COLUMNS) {}
};
