//go:build emulator

// This file compiles the kernels from the same sources as for devices.
#include "../kernel/kernels.cu"
#include "probes.h"

namespace emulator {

#define ENTRY(name) {#name, Caller<&name>::call, Caller<&name>::count}

const Kernel kernels[] = {
	ENTRY(draw_words),
	ENTRY(draw_batches),
	ENTRY(draw_noise),
	ENTRY(draw_normals),
	ENTRY(sum_rows),
	ENTRY(outcome_slopes),
	ENTRY(descend_regression),
	ENTRY(descend_mixture),
	ENTRY(descend_multilevel),
	ENTRY(network_batches),
	ENTRY(network_load),
	ENTRY(network_forward),
	ENTRY(network_latent),
	ENTRY(network_back),
	ENTRY(network_clip),
	ENTRY(network_noise),
	ENTRY(network_update),
	ENTRY(network_update_plainly),
	ENTRY(probe_reverse),
	ENTRY(probe_reverse_racing),
	ENTRY(probe_overtaking),
	ENTRY(probe_warp),
	ENTRY(probe_total),
	ENTRY(probe_ring),
	ENTRY(probe_stuck),
	ENTRY(probe_divide),
	ENTRY(probe_garbage),
};
const int kernel_count = sizeof kernels / sizeof *kernels;

} // namespace emulator
