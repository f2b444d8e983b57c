// Package tape runs verified programs on a number of rows side by side: values forward,
// adjoints backward. It does not compute the gradients of single rows. The backward sweep
// computes the adjoint of every bridge from parameters into records, from which an engine
// computes norms and sums.
package tape
