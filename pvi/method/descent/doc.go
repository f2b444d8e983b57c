// Package descent is the method in which every client runs private gradient descent on its own
// records. Every step releases the noisy sum of the clipped gradients of a batch
// ([fedpvi/pvi/solver.DPSVI]), and the client sends the factor computed from these sums. Anyone may
// read it. In some studies clients start from noisy statistics.
package descent
