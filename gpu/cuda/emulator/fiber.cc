//go:build emulator

#include "fiber.h"

#include <cstdint>

namespace emulator {

#if defined(__x86_64__)

// Saves the registers that the System V ABI preserves over a call. Control words are not changed.
asm(R"(
.text
.globl emulator_switch
.type emulator_switch, @function
emulator_switch:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
.size emulator_switch, .-emulator_switch
)");

void fresh_fiber(Context *c, char *stack, std::size_t size, void (*entry)()) {
	// When a function begins, the stack pointer is eight bytes less than a multiple of sixteen.
	auto top = (void **)((uintptr_t)(stack + size) & ~(uintptr_t)15);
	*--top = nullptr;
	*--top = (void *)entry;
	for (int i = 0; i < 6; i++) *--top = nullptr;
	*c = top;
}

#else

void fresh_fiber(Context *c, char *stack, std::size_t size, void (*entry)()) {
	getcontext(c);
	c->uc_stack.ss_sp = stack;
	c->uc_stack.ss_size = size;
	c->uc_link = nullptr;
	makecontext(c, entry, 0);
}

#endif

} // namespace emulator
