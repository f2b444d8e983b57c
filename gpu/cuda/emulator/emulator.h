// This file provides the parts of CUDA C++ that are in prelude.h, for a CPU.
//
// Every thread of a block is a fiber that runs until it waits. Blocks run one after the other. So
// the emulator finds errors of logic, barriers that not all threads reach, and shared memory that
// is read before it is written. It runs fibers in several orders, and so finds most missing
// barriers. It does not find errors that depend on the memory model of a device.
#pragma once

#include <cmath>
#include <utility>

// The build flags do not include this option.
#pragma GCC optimize("fp-contract=off")

#define DEVICE static inline
#define FUNCTION static inline
#define DEVICE_METHOD inline
#define KERNEL static
#define CONSTANT static const
#define THREADS(most)
#define UNROLL
#define UNROLL_FOUR
#define shared_memory (emulator::shared)

namespace emulator {

struct Place {
	u32 thread, threads, block, blocks;
};

extern Place place; // place of the running fiber
extern u64 *shared;

void sync_block();
u32 exchange(u32 value, u32 step);
u32 ballot(bool yes);

// A kernel consists of its name, a function that calls it with pointers to its parameters, and the
// number of parameters.
struct Kernel {
	const char *name;
	void (*call)(void **parameters);
	int parameters;
};

template <auto kernel> struct Caller;

template <class... Parameters, void (*kernel)(Parameters...)> struct Caller<kernel> {
	static constexpr int count = sizeof...(Parameters);

	static void call(void **parameters) { with(parameters, std::index_sequence_for<Parameters...>()); }

	template <std::size_t... Place> static void with(void **parameters, std::index_sequence<Place...>) {
		kernel(*(Parameters *)parameters[Place]...);
	}
};

extern const Kernel kernels[];
extern const int kernel_count;

} // namespace emulator

DEVICE u32 thread_index() { return emulator::place.thread; }
DEVICE u32 block_size() { return emulator::place.threads; }
DEVICE u32 block_index() { return emulator::place.block; }
DEVICE u32 grid_size() { return emulator::place.blocks; }
DEVICE void sync_block() { emulator::sync_block(); }
DEVICE u64 add_atomically(u64 *to, u64 n) {
	u64 before = *to;
	*to += n;
	return before;
}
DEVICE u32 exchange(u32 value, u32 step) { return emulator::exchange(value, step); }
DEVICE u32 ballot(bool yes) { return emulator::ballot(yes); }
DEVICE u32 count_bits(u32 x) { return __builtin_popcount(x); }
DEVICE u64 multiply_high(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
DEVICE double square_root(double x) { return std::sqrt(x); }
DEVICE float square_root(float x) { return std::sqrt(x); }
DEVICE float fused(float a, float b, float c) { return std::fma(a, b, c); }
