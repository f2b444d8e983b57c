// Package driver uses a CUDA GPU. It calls CUDA through gorgonia.org/cu, and directly where
// gorgonia.org/cu lacks a function. It opens the library libcuda.so.1 at the first use. All code of
// the package is behind the build tag cuda.
//
// The package needs no CUDA toolkit. include/cuda.h declares the calls with the signatures of every
// driver since CUDA 11.4, and loader.c defines each call as a jump into the library. A program
// therefore starts on a machine without a driver, and reports the missing part there. The folders
// include and lib must come first when cu itself is compiled and linked: make cuda sets CGO_CFLAGS
// and CGO_LDFLAGS.
//
// Kernels take arguments of eight bytes each: addresses, int64 and float64.
//
// Every call is checked. An [Error] names the operation, the device and the remedy.
package driver
