// Package kernel has the code that runs on a graphics card. The sources are CUDA C++ without
// NVIDIA's headers or libraries. clang compiles them to PTX (make ptx), which programs embed. PTX
// of version 7.0 for sm_75 loads with every driver from 450 on, and on every card from Turing on.
//
// Package emulator compiles the same sources with g++ and runs them on a CPU.
package kernel

import "embed"

// PTX is the code of all kernels, as text that a driver compiles.
//
//go:embed kernels.ptx
var PTX string

// Sources are the files from which [PTX] is compiled.
//
//go:embed *.cu *.h
var Sources embed.FS
