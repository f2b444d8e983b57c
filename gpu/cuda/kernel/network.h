// The variational autoencoder of gpu/vae: a batch at a time, in matrices with a row for each
// record.
#pragma once

#include "batch.h"
#include "gaussian.h"
#include "product.h"

enum { ENCODER_HIDDEN, ENCODER_OUTPUT, DECODER_HIDDEN, DECODER_OUTPUT, LAYERS };

// What the plan of a dpmech.ProductPlan has where others have the gate.
enum {
	PLAN_LIMIT = PLAN_CLIP,     // the largest norm that is not shortened
	PLAN_TOGETHER = PLAN_LENGTH // records of a batch that are added up as floats
};

// A network, its records, and the steps that move it; gpu/cuda writes the fields in this
// order. Matrices have rows of whole eights: weights are row after row, layer after layer,
// numbered as the plan's samples are.
struct Network {
	const u64 *plan;
	const u8 *images; // of pixels bytes, image_stride apart
	u64 image_stride, pixels, hidden, latent;
	u64 rows;           // room for so many records, as many as a batch can have
	u32 *drawn;         // for each step, rows records, in the order in which they are drawn
	u32 *batches;       // for each step, a size and rows records, in order
	const float *moves; // for each step, of Adam: the rate over 1−β₁ᵗ, and 1/(1−β₂ᵗ)
	float *weights, *first, *second;
	float *in[LAYERS];  // inputs of the layers, the last of them 1
	float *out[LAYERS]; // outputs, then derivatives of the loss
	float *slope[2];    // of the units behind the hidden layers
	float *deviates;    // standard normal numbers
	i64 *releases;      // for each step, a number for each sample, or null
	double decay1, decay2, epsilon, scale; // of Adam: 1−β₁, 1−β₂; what gradients are multiplied by
	u64 open;      // a sample that dpmech has to decide before the steps can be taken, or 0
	u64 next;      // the step that the next load begins
	u64 current;   // the step under way
	u64 count;     // records of its batch

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
	DEVICE_METHOD float *in_row(u32 layer, u32 row) const { return in[layer] + (u64)row * in_stride(layer); }
	DEVICE_METHOD float *out_row(u32 layer, u32 row) const { return out[layer] + (u64)row * out_stride(layer); }
	DEVICE_METHOD const u32 *batch(u64 step) const { return batches + step * (rows + 1); }
};

DEVICE u32 tiles(u32 n, u32 size) { return (n + size - 1) / size; }

// Elements of a tile that threads find themselves.
struct Element {
	u32 row, column;

	DEVICE_METHOD Element(u32 first_row, u32 first_column, u32 n)
		: row(first_row + (n * TILE_THREADS + thread_index()) / TILE_COLUMNS), column(first_column + thread_index() % TILE_COLUMNS) {}
};
