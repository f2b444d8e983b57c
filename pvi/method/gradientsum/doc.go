// Package gradientsum is the method of rounds that open one sum of clipped gradients over
// all records of the clients that answered. Every machine moves q by the sum for itself.
//
// A release is the only thing that a client computes from its records, so that nothing that
// the sum hides shows elsewhere. Clients have no factors.
package gradientsum
