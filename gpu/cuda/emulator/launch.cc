//go:build emulator

#include "../kernel/prelude.h"
#include "fiber.h"
#include "launch.h"

#include <cstring>
#include <mutex>
#include <sys/mman.h>

namespace emulator {

Place place;
u64 *shared;

namespace {

constexpr u32 most_threads = 1024, warp = 32;
constexpr u32 most_shared = 96 << 10; // bytes
constexpr std::size_t stack_size = 64 << 10;

// A barrier opens when all of its threads have arrived.
struct Barrier {
	u32 expected, arrived;
	u64 passed;
};

struct Fiber {
	Context context;
	Barrier *at; // the barrier that the fiber waits at, or nullptr
	u64 passed;  // value of the barrier's counter when the fiber arrived
	bool ended;
};

struct Warp {
	Barrier barrier;
	u32 slots[warp];
};

std::mutex one_at_a_time;
Context scheduler;
Fiber fibers[most_threads];
Warp warps[most_threads / warp];
Barrier whole;
Fiber *running;
char *stacks;
void (*entered)(void **);
void **arguments;

// Waits until all threads of the barrier have arrived.
void wait_at(Barrier &b) {
	if (++b.arrived == b.expected) {
		b.arrived = 0;
		b.passed++;
		return;
	}
	running->at = &b;
	running->passed = b.passed;
	Fiber *self = running;
	switch_to(&self->context, &scheduler);
}

void run_fiber() {
	entered(arguments);
	running->ended = true;
	Fiber *self = running;
	switch_to(&self->context, &scheduler);
	__builtin_unreachable();
}

// Returns the i-th of the numbers 0 to n - 1 in the given order.
u32 nth(u32 i, u32 n, int order, u64 &state) {
	switch (order) {
	case EMULATOR_BACKWARD:
		return n - 1 - i;
	case EMULATOR_SHUFFLED:
		if (i == 0) state = state * 6364136223846793005u + 1442695040888963407u;
		return (u32)((i + (state >> 33)) % n);
	}
	return i;
}

bool can_run(const Fiber &f) { return !f.ended && (!f.at || f.at->passed != f.passed); }

// Runs a warp until all of its threads wait for other warps or have ended. The warps of a block are
// then as far apart as barriers permit. Returns whether any thread ran.
bool run_warp(u32 first, int order, u32 &left) {
	const u32 lanes = place.threads - first < warp ? place.threads - first : warp;
	bool ran = false;
	for (bool moved = true; moved; ran |= moved) {
		moved = false;
		for (u32 i = 0; i < lanes; i++) {
			u32 k = first + (order == EMULATOR_BACKWARD ? lanes - 1 - i : i);
			if (!can_run(fibers[k])) continue;
			moved = true;
			running = &fibers[k];
			running->at = nullptr;
			place.thread = k;
			switch_to(&scheduler, &running->context);
			left -= running->ended;
		}
	}
	return ran;
}

// Runs the threads of one block. Returns whether all finished.
bool run_block(int order, u64 &state) {
	const u32 n = place.threads;
	whole = {n, 0, 0};
	for (u32 i = 0; i < n; i++) {
		if (i % warp == 0) warps[i / warp] = {{n - i < warp ? n - i : warp, 0, 0}, {}};
		fibers[i].at = nullptr;
		fibers[i].ended = false;
		// If the distances of stacks were powers of two, all stacks would share a few lines of the
		// cache.
		fresh_fiber(&fibers[i].context, stacks + i * stack_size, stack_size - i % 61 * 192, run_fiber);
	}
	const u32 count = (n + warp - 1) / warp;
	for (u32 left = n; left > 0;) {
		bool moved = false;
		for (u32 i = 0; i < count; i++) {
			moved |= run_warp(nth(i, count, order, state) * warp, order, left);
		}
		if (!moved) return false;
	}
	return true;
}

Warp &own_warp() { return warps[place.thread / warp]; }

} // namespace

void sync_block() { wait_at(whole); }

u32 exchange(u32 value, u32 step) {
	Warp &w = own_warp();
	u32 self = place.thread;
	w.slots[self % warp] = value;
	wait_at(w.barrier);
	u32 other = w.slots[(self % warp) ^ step];
	wait_at(w.barrier);
	return other;
}

u32 ballot(bool yes) {
	Warp &w = own_warp();
	w.slots[place.thread % warp] = yes;
	wait_at(w.barrier);
	u32 all = 0;
	for (u32 i = 0; i < w.barrier.expected; i++) all |= w.slots[i] << i;
	wait_at(w.barrier);
	return all;
}

} // namespace emulator

using namespace emulator;

int emulator_kernels(void) { return kernel_count; }

const char *emulator_name(int kernel) { return kernels[kernel].name; }

int emulator_parameters(int kernel) { return kernels[kernel].parameters; }

int emulator_find(const char *name) {
	for (int i = 0; i < kernel_count; i++) {
		if (std::strcmp(kernels[i].name, name) == 0) return i;
	}
	return -1;
}

int emulator_launch(int kernel, unsigned blocks, unsigned threads, unsigned shared_bytes, void **parameters, int order) {
	constexpr unsigned beyond = 1024; // guard bytes after the shared memory
	static u64 memory[(most_shared + beyond) / 8];
	if (kernel < 0 || kernel >= kernel_count) return EMULATOR_NO_KERNEL;
	if (blocks < 1 || threads < 1 || threads > most_threads || shared_bytes > most_shared) return EMULATOR_BAD_SHAPE;
	std::lock_guard<std::mutex> lock(one_at_a_time);
	if (!stacks) {
		void *made = mmap(nullptr, most_threads * stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (made == MAP_FAILED) return EMULATOR_NO_MEMORY;
		stacks = (char *)made;
	}
	entered = kernels[kernel].call;
	arguments = parameters;
	u64 state = 1;
	for (unsigned i = 0; i < blocks; i++) {
		place = {0, threads, nth(i, blocks, order == EMULATOR_BACKWARD ? order : EMULATOR_FORWARD, state), blocks};
		std::memset(memory, 0xa5, shared_bytes + beyond); // garbage
		shared = memory;
		if (!run_block(order, state)) return EMULATOR_STUCK;
		for (unsigned k = 0; k < beyond; k++) {
			if (((unsigned char *)memory)[shared_bytes + k] != 0xa5) return EMULATOR_BEYOND;
		}
	}
	return EMULATOR_DONE;
}
