// A fiber is a stack and the place at which its code continues.
#pragma once

#include <cstddef>

namespace emulator {

#if defined(__x86_64__)

// Saves the present place and continues at to, which an earlier call saved or fresh_fiber made.
extern "C" void emulator_switch(void **saved, void *to);

using Context = void *;
inline void switch_to(Context *saved, Context *to) { emulator_switch(saved, *to); }

#else

#include <ucontext.h>

using Context = ucontext_t;
inline void switch_to(Context *saved, Context *to) { swapcontext(saved, to); }

#endif

// Prepares c to begin with entry on the given stack. entry must not return.
void fresh_fiber(Context *c, char *stack, std::size_t size, void (*entry)());

} // namespace emulator
