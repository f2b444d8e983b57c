// Kernels for the emulator's own tests.
#pragma once

#include "../kernel/gaussian.h"

// Reverses every block's part of in.
KERNEL void probe_reverse(u64 *out, const u64 *in) {
	u32 t = thread_index(), n = block_size();
	shared_memory[t] = in[global_index()];
	sync_block();
	out[global_index()] = shared_memory[n - 1 - t];
}

// Does the same without the barrier that it needs.
KERNEL void probe_reverse_racing(u64 *out, const u64 *in) {
	u32 t = thread_index(), n = block_size();
	shared_memory[t] = in[global_index()];
	out[global_index()] = shared_memory[n - 1 - t];
}

// The first warp publishes a word rounds times, without the barrier that lets all warps read it
// before the next word.
KERNEL void probe_overtaking(u64 *out, u64 rounds) {
	u64 heard = 0;
	for (u64 i = 0; i < rounds; i++) {
		if (thread_index() == 0) shared_memory[i % 2] = i + 1;
		if (i % 2 == 0) sync_block();
		heard += shared_memory[i % 2] * (i + 1);
	}
	out[global_index()] = heard;
}

// Writes the sum of every warp's values, and a bit for each thread with an odd value.
KERNEL void probe_warp(u64 *sums, u64 *odd, const u64 *in) {
	u32 sum = (u32)in[global_index()];
	u32 bits = ballot(sum % 2 == 1);
	for (u32 step = 1; step < 32; step *= 2) sum += exchange(sum, step);
	sums[global_index()] = sum;
	odd[global_index()] = bits;
}

// Adds every value of in to a total.
KERNEL void probe_total(u64 *total, const u64 *in) { add_atomically(total, in[global_index()]); }

// Passes many barriers. In each of the rounds every thread passes its number to the next thread.
KERNEL void probe_ring(u64 *out, u64 rounds) {
	u32 t = thread_index(), n = block_size();
	u64 mine = t;
	for (u64 i = 0; i < rounds; i++) {
		shared_memory[(t + 1) % n] = mine;
		sync_block();
		mine = shared_memory[t];
		sync_block();
	}
	out[global_index()] = mine;
}

// Waits for a thread that never arrives.
KERNEL void probe_stuck(u64 *out) {
	if (thread_index() != 1) sync_block();
	out[global_index()] = 1;
}

// Divides. Each thread reads the two words of a number and a divisor, and writes quotient and
// remainder.
KERNEL void probe_divide(u64 *out, const u64 *in) {
	const u64 *of = in + 3 * global_index();
	u64 rest;
	out[2 * global_index()] = divide(of[0], of[1], of[2], rest);
	out[2 * global_index() + 1] = rest;
}

// Reads shared memory that no thread has written.
KERNEL void probe_garbage(u64 *out) { out[global_index()] = shared_memory[thread_index()]; }
