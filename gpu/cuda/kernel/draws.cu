// The random numbers of a plan's steps, each kind in a kernel of its own, for tests.
#include "batch.h"
#include "gaussian.h"

// Writes words from, from+1, ... of a key stream, one in each thread.
KERNEL void draw_words(u64 *out, const u64 *key, u64 purpose, u64 step, u64 sample, u64 from, u64 count) {
	u64 i = global_index();
	if (i >= count) return;
	Stream s = {key, (u32)purpose, (u32)step, (u32)sample, from + i};
	out[i] = s.read();
}

// Writes the batch of every step, one in each block: its size and then its records, at
// stride·step. Blocks consist of whole warps.
KERNEL void draw_batches(u64 *out, const u64 *words, u64 stride) {
	Plan plan = {words};
	Batch *b = (Batch *)shared_memory;
	u64 *own = out + stride * block_index();
	begin_batch(plan, block_index(), b);
	if (thread_index() == 0) own[0] = b->size;
	Feistel network((u32)plan.at(PLAN_RECORDS));
	for (u32 x = 0, found = 0; found < b->size; x += block_size()) {
		Member m = next_member(plan, network, b, x, found);
		if (m.there) own[1 + m.place] = m.record;
	}
}

// Writes count samples of the noise of a step, one in each thread, and adds the number of
// undecided samples to open.
KERNEL void draw_noise(i64 *out, u64 *open, const u64 *words, u64 step, u64 count) {
	u64 j = global_index();
	if (j >= count) return;
	Plan plan = {words};
	i64 x;
	if (!noise(plan, (u32)step, (u32)j, x)) {
		add_atomically(open, 1);
		x = 0;
	}
	out[j] = x;
}

// Writes standard normal numbers of a step, one in each thread.
KERNEL void draw_normals(double *out, const u64 *words, u64 step, u64 count) {
	u64 j = global_index();
	if (j >= count) return;
	Plan plan = {words};
	out[j] = normal(plan, (u32)step, (u32)j);
}
