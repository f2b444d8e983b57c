// Package scoring computes the posterior of a regression from noisy sums over its records. Each
// round releases sums at a point θ_t that follows from earlier releases. The posterior follows from
// the sums of all rounds. The package is pure: a [State] is a function of a [Problem] and of the
// sums so far, and all machines compute the same state up to rounding.
//
// # The releases
//
// A record adds a vector to the sum of a round. Its L2 norm is at most the round's clip w_t
// ([Contributor.Vector]). The vector has these blocks, each with a clip of its own:
//
//	score      the gradient of the record's log likelihood at θ_t in the units L_t, clipped to c_t
//	lengths    a one-hot vector that marks the interval of the score's norm, in multiples of c_t
//	residual   for counts whose variance the model fixes, the squared residual, clipped
//	margins    levels, values and squared values of the record's regressors, clipped together
//	curvature  the record's Fisher information at θ_t in units, packed so that its L2 norm is
//	           its Frobenius norm, clipped to k_t
//
// Every block is divided by its clip and multiplied by w_t√a, where a is the public share of the
// block in the round's budget. The shares of a round's blocks add up to 1, so that the norm of the
// vector is at most w_t√Σa = w_t. This holds for all θ_t, L_t and clips, which may be any public
// numbers. A round is one release of a Gaussian mechanism with clip w_t, and the study is a
// composition of such releases. A record whose vector is not finite adds zero.
//
// # The posterior
//
// Everything else is computed from released sums. From the margins the package makes up records
// with independent columns. These are the made-up records. Their curvature at θ is the first guess
// of the curvature Λ(θ), and it gives the units in which scores are clipped. Their scores show for
// which clip the bias of clipping and the noise together are smallest. A released curvature
// corrects the guess, with a weight that falls with its noise ([State.learnCurvature]). The
// difference of two sums of scores corrects the guess along the step between the points of the sums
// ([State.learnSecant]). Every sum of scores is an observation of the score at one point. Its
// covariance allows for noise, for clipping, and for the unknown curvature between the points
// ([State.observe]). A step goes part of the way to the posterior mean given all sums so far.
package scoring
