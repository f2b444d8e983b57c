package special

import "golang.org/x/sys/cpu"

// This file computes exponentials with vector instructions if the CPU has them.

var hasLanes = cpu.X86.HasAVX2

// expFours writes eˣ for elements of x to dst, four at a time. It stops before a group of four that
// has an element outside (−708, 709), and before the last one to three elements. It returns how
// many elements it has written.
//
//go:noescape
func expFours(dst, x []float64, table *[64]float64) int
