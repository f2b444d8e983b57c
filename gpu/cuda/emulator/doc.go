// Package emulator runs the kernels of package kernel on a processor. g++ compiles the same
// sources under the build tag emulator, so tests of kernels need no graphics card. It shows
// that the kernels' results are correct. It does not show effects of a device's memory model or
// speed.
//
// Without the tag the package is empty, and nothing needs a C++ compiler.
package emulator
