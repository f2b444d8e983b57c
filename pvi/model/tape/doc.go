// Package tape runs verified programs on several rows at a time: values forward, adjoints
// backward. It does not compute the gradients of single rows. The backward sweep computes the
// adjoint of every bridge from parameters into records. An engine computes norms and sums of
// gradients from these adjoints.
package tape
