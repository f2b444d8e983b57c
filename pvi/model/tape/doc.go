// Package tape runs verified programs on several rows at a time: first it computes values from
// inputs to outputs, and then adjoints in the opposite direction. It does not compute the
// gradients of single rows. The backward sweep computes an adjoint for every operation that
// reads parameters for a record. An engine computes norms and sums of gradients from these
// adjoints.
package tape
