// Package tape runs verified programs on several rows at a time. A forward pass computes values
// from inputs to outputs. A backward pass computes adjoints in the opposite direction (reverse-mode
// differentiation). The backward pass stops at the operations that read parameters for a record: it
// computes their adjoints, but not the gradient of each row. An engine computes norms and sums of
// gradients from these adjoints.
package tape
