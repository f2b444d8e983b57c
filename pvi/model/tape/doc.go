// Package tape runs verified programs on several rows at a time. A forward pass computes values,
// and a backward pass adjoints (reverse-mode differentiation). The backward pass stops at the
// operations that read parameters for a record, without computing the gradient of each row. Package
// gpu computes norms and sums of gradients from their adjoints.
package tape
