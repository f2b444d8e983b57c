// Package header contains only an #error for the C compiler. It tells how to build programs
// with the tag cuda when the header of CUDA's driver is not found; gorgonia.org/cu, which also
// fails then, does not.
package header
