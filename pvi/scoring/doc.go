// Package scoring computes the posterior of a regression from noisy sums over its records. Each
// round releases sums at a point θ_t that follows from earlier releases; together they are noisy
// observations of one posterior. The package is pure: a [State] is a function of a [Problem] and
// of the sums so far, the same on every machine up to rounding.
//
// # The releases
//
// A record adds to the sum of a round a vector of L2 norm at most the round's clip w_t
// ([Contributor.Vector]). It has these blocks, each clipped by itself:
//
//	score      the gradient of the record's log likelihood at θ_t in the units L_t, clipped to c_t
//	lengths    a one-hot vector that says between which multiples of c_t the score's norm lies
//	residual   for counts whose variance the model fixes, the squared residual, clipped
//	margins    levels, values and squared values of the record's regressors, clipped together
//	curvature  the record's Fisher information at θ_t in units, packed so that its L2 norm is
//	           its Frobenius norm, clipped to k_t
//
// Every block is divided by its clip and multiplied by w_t√a, where the public shares a of a
// round's blocks add up to 1. So the norm of the vector is at most w_t√Σa = w_t, whatever θ_t,
// L_t and the clips are: these may be any public numbers. A round is one release of a Gaussian
// mechanism with clip w_t, and the study is a composition of such releases. A record whose
// vector is not finite adds zero.
//
// # The posterior
//
// Everything else is computed from released sums. Margins give made-up records with independent
// columns, whose curvature at θ is the first guess of the curvature Λ(θ), gives units in which
// clips make sense, and says at which clip the bias of clipping and the noise are least together.
// The released curvature moves the guess as far as its noise lets it ([State.learnCurvature]), and
// so does the difference of two sums along the step between them ([State.learnSecant]). Every
// sum of scores is an observation of the score at one point, with a covariance that counts noise,
// clipping, and ignorance of the curvature between the points ([State.observe]). A step goes part of
// the way to the posterior mean that all sums so far imply.
package scoring
