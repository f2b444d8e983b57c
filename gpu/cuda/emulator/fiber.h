// A fiber is a stack and a place to go on from.
#pragma once

#include <cstddef>

namespace emulator {

#if defined(__x86_64__)

// Goes on at to, which was saved, or made by fresh_fiber, and saves where it was.
extern "C" void emulator_switch(void **saved, void *to);

using Context = void *;
inline void switch_to(Context *saved, Context *to) { emulator_switch(saved, *to); }

#else

#include <ucontext.h>

using Context = ucontext_t;
inline void switch_to(Context *saved, Context *to) { swapcontext(saved, to); }

#endif

// Makes c begin with entry, which never returns, on a stack.
void fresh_fiber(Context *c, char *stack, std::size_t size, void (*entry)());

} // namespace emulator
