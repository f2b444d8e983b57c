// Package descent is the method of clients that take steps of private gradient descent by
// themselves. Every step releases the noisy sum of the clipped gradients of a batch
// (solver.DPSVI), and the client sends the factor that follows from these sums. Anyone may
// read the message. A study may have clients start from their records' noisy statistics.
package descent
