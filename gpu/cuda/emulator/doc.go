// Package emulator runs the kernels of package kernel on the CPU. With the build tag emulator, g++
// compiles the same sources, so tests of kernels need no graphics card. Tests with the emulator
// check that the kernels compute the right results. They cannot find errors that come from a
// device's memory model, and they do not measure a device's speed.
//
// Without the tag the package is empty, and no C++ compiler is necessary.
package emulator
