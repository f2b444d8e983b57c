// Package tape runs verified programs on several rows at a time: first it computes values from
// inputs to outputs, and then adjoints in the opposite direction. The backward sweep computes an
// adjoint for every operation that reads parameters for a record. It does not compute the
// gradient of each row. An engine computes norms and sums of gradients from the adjoints.
package tape
