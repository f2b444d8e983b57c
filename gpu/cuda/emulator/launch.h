// Launching kernels, for Go and for the driver's functions.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// The order of runnable threads, and of blocks.
enum emulator_order { EMULATOR_FORWARD, EMULATOR_BACKWARD, EMULATOR_SHUFFLED };

enum emulator_result {
	EMULATOR_DONE,
	EMULATOR_NO_KERNEL,
	EMULATOR_BAD_SHAPE, // of grid, block or shared memory
	EMULATOR_STUCK,     // threads wait for others that have finished or wait elsewhere
	EMULATOR_BEYOND,    // a block wrote beyond its shared memory
	EMULATOR_NO_MEMORY,
};

// Returns a kernel's number, or -1.
int emulator_find(const char *name);
int emulator_kernels(void);
const char *emulator_name(int kernel);
int emulator_parameters(int kernel);

// Runs a kernel to its end. One launch runs at a time; others wait.
int emulator_launch(int kernel, unsigned blocks, unsigned threads, unsigned shared_bytes, void **parameters, int order);

#ifdef __cplusplus
}
#endif
