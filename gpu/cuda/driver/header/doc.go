// Package header has nothing but an error of the C compiler, which says how to build programs with
// the tag cuda where the header of CUDA's driver is not found: gorgonia.org/cu, which fails
// beside it, does not know.
package header
