// Package scoring computes the posterior of a regression from noisy sums over its records. Round t
// releases sums at a point θ_t, which is computed from earlier releases. A [State] depends only on
// a [Problem] and the sums so far, and all machines compute the same state up to rounding.
//
// # The releases
//
// A record adds a vector to the sum of a round ([Contributor.Vector]). The L2 norm of the vector is
// at most the round's clip w_t. The vector has these blocks, each with a clip of its own:
//
//	score      the gradient of the record's log likelihood at θ_t, in public units, clipped to c_t
//	lengths    a one-hot vector that marks the interval of the score's norm, in multiples of c_t
//	residual   for counts whose variance the model fixes, the squared residual, clipped
//	margins    levels, values and squared values of the record's regressors, clipped together
//	curvature  the record's Fisher information at θ_t, in public units, packed so that its
//	           L2 norm is its Frobenius norm, clipped to k_t
//	tables     values for the tables that describe the records, if the study asks for tables
//	scores     with [compare], the vector of a held-out record's log predictive density, in a
//	           last round that has no other block
//
// Every block is divided by its clip and multiplied by w_t√a, where a is the public share of the
// block in the round's budget. The shares of a round's blocks add up to 1, so the norm of the
// vector is at most w_t√Σa = w_t, whatever the public points, units and clips are. So a round is
// one release of a Gaussian mechanism with clip w_t. A record whose vector is not finite adds zero.
//
// # The posterior
//
// Everything else is computed from released sums:
//
//   - The released margins describe each column of the regressors. Made-up records have these
//     margins and independent columns.
//   - Their curvature at θ is the first guess of the curvature Λ(θ) of all real records. It defines
//     the units in which scores are clipped.
//   - The scores of the made-up records show for which clip the bias of clipping and the noise together
//     are smallest.
//   - A released curvature corrects the guess, with a weight that falls with the noise of the release
//     ([State.learnCurvature]).
//   - The difference of two sums of scores corrects the guess along the step between their points
//     ([State.learnSecant]).
//   - Every sum of scores is an observation of the score at one point. The covariance of its error allows
//     for noise, for clipping, and for the unknown curvature between the points ([State.observe]).
//   - Each step goes part of the way to the posterior mean given all sums so far.
package scoring
