// Package tape runs verified programs on several rows at a time. A forward pass computes the
// values, and a backward pass the adjoints (reverse-mode differentiation). The backward pass stops
// at the operations that let a record read parameters, and does not compute the gradient of each
// row. From the adjoints of these operations, package gpu computes norms and sums of gradients.
package tape
