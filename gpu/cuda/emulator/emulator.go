//go:build emulator

package emulator

/*
#cgo CXXFLAGS: -std=c++17 -O2 -Wall -Wextra -fno-exceptions -fno-rtti
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include "launch.h"

// Go code sees the device's addresses as numbers.
static unsigned long long allocate(size_t bytes) {
	void *p = malloc(bytes ? bytes : 1);
	if (p) memset(p, 0xa5, bytes);
	return (unsigned long long)p;
}
static void clear(unsigned long long p) { if (p) memset((void *)p, 0, malloc_usable_size((void *)p)); }
static void release(unsigned long long p) { free((void *)p); }
static void put(unsigned long long to, const void *from, size_t bytes) { memcpy((void *)to, from, bytes); }
static void get(void *to, unsigned long long from, size_t bytes) { memcpy(to, (const void *)from, bytes); }

static int launch(int kernel, unsigned blocks, unsigned threads, unsigned shared, unsigned long long *arguments, int count, int order) {
	void *parameters[32];
	if (count > 32) return EMULATOR_BAD_SHAPE;
	for (int i = 0; i < count; i++) parameters[i] = arguments + i;
	return emulator_launch(kernel, blocks, threads, shared, parameters, order);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"fedpvi/gpu/cuda/kernel"
)

// Because the sources are embedded, Go compiles this package again when a kernel changes. The build
// cache tracks files that a package embeds, but not files that its C++ code includes.
var _ = kernel.Sources

// An Order is the order in which the emulator runs a block's threads from one barrier to the next.
type Order int

// These are the orders in which threads can run. If two orders give different results, a kernel
// lacks a barrier.
const (
	Forward  Order = C.EMULATOR_FORWARD
	Backward Order = C.EMULATOR_BACKWARD
	Shuffled Order = C.EMULATOR_SHUFFLED
)

// A Device emulates a graphics card on the CPU and implements cuda.Device. It runs one kernel at a
// time.
type Device struct{ Order Order }

// Name returns the name of the device for reports.
func (*Device) Name() string { return "emulated device" }

// Kernels returns the names of all kernels.
func Kernels() (names []string) {
	for i := range C.emulator_kernels() {
		names = append(names, C.GoString(C.emulator_name(i)))
	}
	return names
}

// Alloc allocates the given number of bytes and returns the address of the memory. It fills the
// memory with a pattern, so that tests notice when a kernel reads uninitialised memory.
func (*Device) Alloc(bytes int) (uint64, error) {
	p := uint64(C.allocate(C.size_t(bytes)))
	if p == 0 {
		return 0, fmt.Errorf("emulator: no memory for %d bytes", bytes)
	}
	return p, nil
}

// Free overwrites memory that Alloc returned and frees it.
func (*Device) Free(memory uint64) error {
	C.clear(C.ulonglong(memory))
	C.release(C.ulonglong(memory))
	return nil
}

// Write copies words to the device.
func (*Device) Write(memory uint64, words []uint64) error {
	if len(words) > 0 {
		C.put(C.ulonglong(memory), unsafe.Pointer(&words[0]), C.size_t(8*len(words)))
	}
	return nil
}

// Read copies words from the device.
func (*Device) Read(words []uint64, memory uint64) error {
	if len(words) > 0 {
		C.get(unsafe.Pointer(&words[0]), C.ulonglong(memory), C.size_t(8*len(words)))
	}
	return nil
}

// Launch runs a kernel and returns when it is done.
func (d *Device) Launch(name string, blocks, threads, shared int, arguments ...uint64) error {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var first *C.ulonglong
	if len(arguments) > 0 {
		first = (*C.ulonglong)(unsafe.Pointer(&arguments[0]))
	}
	switch C.launch(C.emulator_find(text), C.uint(blocks), C.uint(threads), C.uint(shared), first, C.int(len(arguments)), C.int(d.Order)) {
	case C.EMULATOR_DONE:
		return nil
	case C.EMULATOR_NO_KERNEL:
		return fmt.Errorf("emulator: no kernel is called %q", name)
	case C.EMULATOR_BAD_SHAPE:
		return fmt.Errorf("emulator: %s cannot run in %d blocks of %d threads with %d bytes of shared memory", name, blocks, threads, shared)
	case C.EMULATOR_STUCK:
		return fmt.Errorf("emulator: %s: threads wait for others that never arrive", name)
	case C.EMULATOR_BEYOND:
		return fmt.Errorf("emulator: %s writes beyond its %d bytes of shared memory", name, shared)
	}
	return errors.New("emulator: no memory for the threads' stacks")
}
