// Package emulator runs the kernels of package kernel on a processor, from the same
// sources, which g++ compiles under the build tag emulator: tests of kernels need no
// graphics card. It shows that kernels compute what they should; what depends on a
// device's memory model, or on its speed, it does not show.
//
// Without the tag the package is empty, and nothing needs a C++ compiler.
package emulator
