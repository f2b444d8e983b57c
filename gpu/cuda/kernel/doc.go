// Package kernel holds the code that runs on a graphics card: sources in CUDA C++ that need
// none of NVIDIA's headers or libraries, and the PTX that clang makes of them (make ptx), which
// programs embed. PTX of version 7.0 for sm_75 loads with every driver from 450 on, and on
// every card from Turing on.
//
// The same sources, compiled by g++, run on a processor: package emulator.
package kernel

import "embed"

// PTX is the code of all kernels, as text for a driver to compile.
//
//go:embed kernels.ptx
var PTX string

// Sources are the files that [PTX] is made of.
//
//go:embed *.cu *.h
var Sources embed.FS
