// A fiber is a stack and a place where it continues.
#pragma once

#include <cstddef>

namespace emulator {

#if defined(__x86_64__)

// Continues at to, which was saved or made by fresh_fiber, and saves the present place.
extern "C" void emulator_switch(void **saved, void *to);

using Context = void *;
inline void switch_to(Context *saved, Context *to) { emulator_switch(saved, *to); }

#else

#include <ucontext.h>

using Context = ucontext_t;
inline void switch_to(Context *saved, Context *to) { swapcontext(saved, to); }

#endif

// Prepares c to begin with entry, which never returns, on a stack.
void fresh_fiber(Context *c, char *stack, std::size_t size, void (*entry)());

} // namespace emulator
