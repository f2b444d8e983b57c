// Package header contains only an #error for the C compiler. If the compiler does not find the
// header of CUDA's driver, the message explains how to build programs with the tag cuda. The
// package exists because gorgonia.org/cu fails in this case without such a message.
package header
