// Package descent is the method in which every client runs private gradient descent on its own
// records. Each step releases a noisy sum of the clipped gradients of one batch
// ([fedpvi/pvi/solver.DPSVI]). From these sums the client computes its factor and sends it; anyone
// may read it. In some studies, clients start from noisy statistics.
package descent
