// Package driver is the way to a CUDA GPU: gorgonia.org/cu, the calls that it lacks, and
// libcuda.so.1 opened when it is first asked for. Its code is behind the build tag cuda.
//
// It needs no toolkit. include/cuda.h declares what is used, with the signatures that every
// driver since CUDA 11.4 keeps, and loader.c defines each call as a jump into the library,
// so that a program starts on a machine without a driver and says there what is missing.
// The folders include and lib have to come first when cu itself is compiled and linked:
// make cuda sets CGO_CFLAGS and CGO_LDFLAGS.
//
// Kernels take arguments of eight bytes each: addresses, int64 and float64.
//
// Every call is checked, and an [Error] says what was being done, where, and what helps.
package driver
