// Package driver uses a CUDA GPU through gorgonia.org/cu, the calls that it lacks, and
// libcuda.so.1, which is opened at the first use. Its code is behind the build tag cuda.
//
// It needs no toolkit. include/cuda.h declares the calls with the signatures of every driver
// since CUDA 11.4, and loader.c defines each as a jump into the library, so that a program
// starts on a machine without a driver and reports there what is missing. The folders include
// and lib must come first when cu itself is compiled and linked: make cuda sets CGO_CFLAGS and
// CGO_LDFLAGS.
//
// Kernels take arguments of eight bytes each: addresses, int64 and float64.
//
// Every call is checked. An [Error] names the operation, the device and the remedy.
package driver
