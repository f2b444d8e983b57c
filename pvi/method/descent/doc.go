// Package descent is the method in which every client runs private gradient descent on its own
// records. Every step releases the noisy sum of the clipped gradients of a batch
// ([fedpvi/pvi/solver.DPSVI]), and the client sends the factor that it computes from these sums.
// Anyone may read the message. In some studies clients start from noisy statistics of their
// records.
package descent
