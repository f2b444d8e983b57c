// This file declares the functions that launch kernels, for Go and for the driver's functions.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// These are the orders in which runnable threads, and blocks, run.
enum emulator_order { EMULATOR_FORWARD, EMULATOR_BACKWARD, EMULATOR_SHUFFLED };

enum emulator_result {
	EMULATOR_DONE,
	EMULATOR_NO_KERNEL,
	EMULATOR_BAD_SHAPE, // shape of the grid, the block or the shared memory
	EMULATOR_STUCK,     // threads wait for others that have finished or wait elsewhere
	EMULATOR_BEYOND,    // a block wrote beyond its shared memory
	EMULATOR_NO_MEMORY,
};

// Returns the number of the kernel with the given name, or -1 if there is none.
int emulator_find(const char *name);
int emulator_kernels(void);
const char *emulator_name(int kernel);
int emulator_parameters(int kernel);

// Runs a kernel to its end. If another launch is running, it waits for the end of that launch.
int emulator_launch(int kernel, unsigned blocks, unsigned threads, unsigned shared_bytes, void **parameters, int order);

#ifdef __cplusplus
}
#endif
