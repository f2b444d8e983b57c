// Package emulator runs the kernels of package kernel on the CPU. With the build tag emulator,
// g++ compiles the same sources, so tests of kernels need no graphics card. Tests on the
// emulator check that the kernels' results are correct. They cannot find errors that come from a
// device's memory model, and do not measure a device's speed.
//
// Without the tag the package is empty, and no C++ compiler is necessary.
package emulator
