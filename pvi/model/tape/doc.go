// Package tape runs verified programs on several rows at a time. A forward pass computes values
// from inputs to outputs. A backward pass computes adjoints in the opposite direction (reverse-mode
// differentiation). The backward pass stops at the operations that read parameters for a record. It
// computes the adjoints of these operations, but not the gradient of each row. Package gpu computes
// norms and sums of gradients from these adjoints.
package tape
