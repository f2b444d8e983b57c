// The parts of CUDA C++ that the kernels use, without NVIDIA's headers: declared here with the
// built-ins of clang if the compiler is for a device, and by the emulator otherwise.
//
// Blocks and grids have one dimension. Shared memory is dynamic, and holds garbage when a block
// begins. Every parameter of a kernel has eight bytes. Only fused() fuses a product and a sum,
// and division and square roots round to nearest, so that a number is the same on every
// machine.
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#ifdef __CUDA__

#define DEVICE static __attribute__((device, always_inline)) inline
// A function that is compiled once and not inlined.
#define FUNCTION static __attribute__((device, noinline, unused))
#define DEVICE_METHOD __attribute__((device)) inline
#define KERNEL extern "C" __attribute__((global))
#define CONSTANT static __attribute__((constant)) const
#define THREADS(most) __attribute__((launch_bounds(most)))
#define UNROLL _Pragma("unroll")
#define UNROLL_FOUR _Pragma("unroll 4")
extern "C" __attribute__((shared, aligned(16))) u64 shared_memory[];

DEVICE u32 thread_index() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE u32 block_size() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE u32 block_index() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE u32 grid_size() { return __nvvm_read_ptx_sreg_nctaid_x(); }

// Waits for all threads of the block.
DEVICE void sync_block() { __syncthreads(); }

// Adds to shared or global memory atomically. Returns the earlier value.
DEVICE u64 add_atomically(u64 *to, u64 n) { return (u64)__nvvm_atom_add_gen_ll((i64 *)to, (i64)n); }

// Returns the value of the lane whose number differs by the bits of step. All 32 lanes of a
// warp must take part.
DEVICE u32 exchange(u32 value, u32 step) { return __nvvm_shfl_sync_bfly_i32(~0u, value, step, 31); }

// Returns a bit for every lane of the warp. All 32 lanes must take part.
DEVICE u32 ballot(bool yes) { return __nvvm_vote_ballot_sync(~0u, yes); }

DEVICE u32 count_bits(u32 x) { return __builtin_popcount(x); }
DEVICE u64 multiply_high(u64 a, u64 b) { return __nvvm_mulhi_ull(a, b); }
DEVICE double square_root(double x) { return __nvvm_sqrt_rn_d(x); }
DEVICE float square_root(float x) { return __nvvm_sqrt_rn_f(x); }

// a·b + c, rounded once.
DEVICE float fused(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }

#else

#include "emulator.h"

#endif

DEVICE u64 bits_of(double x) {
	u64 bits;
	__builtin_memcpy(&bits, &x, 8);
	return bits;
}

DEVICE double double_of(u64 bits) {
	double x;
	__builtin_memcpy(&x, &bits, 8);
	return x;
}

// The index of this thread in the whole grid.
DEVICE u64 global_index() { return (u64)block_index() * block_size() + thread_index(); }
