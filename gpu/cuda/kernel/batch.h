// The records of a batch: dpmech's Poisson batches and batches without replacement by the
// Feistel network (docs/prove/feistel.md), listed batches, and full ones.
#pragma once

#include "chacha20.h"
#include "plan.h"

enum {
	MOST_ROUNDS = 12,
	KEY_BLOCKS = 5, // enough for four words of the size and three for every round
};

// A network without its key: widths of the halves, and the number of rounds.
struct Feistel {
	u32 left, right, rounds;

	DEVICE_METHOD explicit Feistel(u32 records) {
		u32 width = 8;
		while (width < 31 && (u32)1 << width < records) width++;
		left = width / 2, right = width - width / 2;
		rounds = records < 256 ? MOST_ROUNDS : 10;
	}

	DEVICE_METHOD u64 domain() const { return (u64)1 << (left + right); }

	DEVICE_METHOD static u32 hash(const u64 *key, u32 half) {
		u32 y = (u32)((key[0] * half + key[1]) >> 32);
		return (y ^ y >> 16) * ((u32)key[2] | 1);
	}

	// Returns the image of x under a key of three words for every round.
	DEVICE_METHOD u32 image(const u64 *key, u32 x) const {
		u32 up_left = 32 - left, up_right = 32 - right;
		u32 l = x >> right << up_left, r = x << up_right;
		u32 mask_left = ~(u32)0 << up_left, mask_right = ~(u32)0 << up_right;
		for (u32 i = 0; i < rounds; i += 2, key += 6) {
			l ^= hash(key, r) & mask_left;
			r ^= hash(key + 3, l) & mask_right;
		}
		return l >> up_left << right | r >> up_right;
	}
};

// The size of a batch, and the index of the first word of the network's key.
struct Size {
	u32 records, key;
};

// Draws a size from the words of a step's stream.
DEVICE Size draw_size(const Plan &plan, const u64 *words) {
	u32 first = (u32)plan.at(PLAN_FIRST);
	u64 count = plan.at(PLAN_SIZES_COUNT);
	if (count == 0) return {first, 0};
	const u64 *top = plan.from(PLAN_SIZES);
	u64 low = 0, high = count - 1; // finds the first entry that is at least the word; the last entry is
	while (low < high) {
		u64 middle = (low + high) / 2;
		if (top[middle] < words[0]) low = middle + 1;
		else high = middle;
	}
	if (top[low] != words[0]) return {first + (u32)low, 1};
	const u64 *rest = top + count, entry = top[low];
	for (; low < count - 1 && top[low] == entry; low++) {
		const u64 *r = rest + 3 * low;
		bool less = words[1] != r[0] ? words[1] < r[0] : words[2] != r[1] ? words[2] < r[1] : words[3] < r[2];
		if (less) break;
	}
	return {first + (u32)low, 4};
}

// A batch as the threads of a block share it.
struct Batch {
	u64 words[8 * KEY_BLOCKS]; // of the step's stream
	u32 counts[32];            // number of kept images in each warp of the block
	const u32 *list;           // the records of a listed batch
	u32 size, key;
};

// Draws the key and the size of a step's batch, or finds its list. All threads of the block
// must call it; all see the result.
DEVICE void begin_batch(const Plan &plan, u32 step, Batch *b) {
	const u64 kind = plan.at(PLAN_KIND);
	for (u32 i = thread_index(); kind == SOME_RECORDS && i < KEY_BLOCKS; i += block_size()) {
		chacha20_block(b->words + 8 * i, plan.from(PLAN_SAMPLING_KEY), i, FOR_BATCH, step, 0);
	}
	sync_block();
	if (thread_index() == 0) {
		Size s = {(u32)plan.at(PLAN_RECORDS), 0};
		if (kind == SOME_RECORDS) s = draw_size(plan, b->words);
		if (kind == LISTED_RECORDS) {
			const u64 *begins = plan.from(PLAN_LIST);
			b->list = (const u32 *)(begins + plan.at(PLAN_STEPS) + 1) + begins[step];
			s.records = (u32)(begins[step + 1] - begins[step]);
		}
		b->size = s.records;
		b->key = s.key;
	}
	sync_block();
}

// A record of the batch and its place there, if there is one.
struct Member {
	bool there;
	u32 record, place;
};

// Looks at the next block_size() images, beginning with x, and returns this thread's. found
// counts the images kept so far and is the same in all threads. The block must consist of whole
// warps.
DEVICE Member next_member(const Plan &plan, const Feistel &network, Batch *b, u32 x, u32 &found) {
	const u32 records = (u32)plan.at(PLAN_RECORDS), at = x + thread_index();
	if (plan.at(PLAN_KIND) != SOME_RECORDS) {
		bool there = at < b->size;
		found += block_size();
		return {there, there && plan.at(PLAN_KIND) == LISTED_RECORDS ? b->list[at] : at, at};
	}
	u32 record = at < network.domain() ? network.image(b->words + b->key, at) : records;
	u32 kept = ballot(record < records);
	u32 lane = thread_index() % 32, warp = thread_index() / 32, warps = block_size() / 32;
	if (lane == 0) b->counts[warp] = count_bits(kept);
	sync_block();
	u32 place = found + count_bits(kept & (((u32)1 << lane) - 1));
	for (u32 i = 0; i < warps; i++) {
		if (i < warp) place += b->counts[i];
		found += b->counts[i];
	}
	sync_block();
	return {record < records && place < b->size, record, place};
}
