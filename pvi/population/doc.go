// Package population computes a posterior of θ from noisy sums over clients, in a study whose
// privacy unit is the client. A [Query] and a [State] depend only on the study and opened sums, so
// the server and every client compute the same posterior.
//
// Public units ([Units]) are coordinates in which a synthetic record has information I. Real
// records may have much less, especially if the study's bounds are wide, or if values lie near one
// bound: the coefficient and the intercept are then hard to tell apart. So in the first round
// clients vote for the information that they have about each coordinate, and for the centre of its
// regressor. From then on regressors are centred, and a coordinate is multiplied by the square root
// of the information per record that the votes show. In these units a client of n records has an
// information of about nI. All vectors and matrices below are in these units.
//
// # The votes
//
// Let Λ be a client's information at the prior mean, in public units. The base b of a coordinate i
// is the intercept in the same predictor ([Setting].Bases). The centre of i is
//
//	c = Λ_ib/Λ_bb
//
// and the information about i once θ_b + cθ_i is known is λ = Λ_ii − Λ_ib²/Λ_bb. Without a base,
// λ = Λ_ii. For each coordinate the client's vector has eight elements, the places 0 to 7. Place k
// means λ = n·4^-k. A client whose λ lies between two places divides its vote linearly, in log λ,
// between these places. A client whose λ lies beyond the first or last place votes for this place.
// For each coordinate with a base there are nine more elements, whose places are centres from −√3
// to √3. The n votes are multiplied by 1/√n, so that the client's vector has norm at most 1. All
// elements are at least zero, so two such vectors differ by at most √2.
//
// The posterior distribution of each place is computed from the noisy sum of votes. The units
// follow from its mean for a scale and from its median for a centre. The prior of the curvature
// uses draws from it: if noise hides the votes, the curvature may be much smaller than the units
// suggest, and q is nearly the prior.
//
// # The votes for modes
//
// The model of a [Setting] with an [Area] is far from quadratic, and its prior may be so wide that
// the rounds would end before they have found the mode. Each client then also votes for the place
// of the mode of its own records, in units of the prior sd. The first round costs .16 of the budget
// instead of .12, and each of its two kinds of votes has half of this share. The votes for the
// scale then state the information at the client's own mode, which may be larger than that of
// synthetic records. The votes for modes give a posterior distribution of each coordinate's place.
// Its mean is the point of the second round, and its sd determines the clip. Later points are near
// this mean. The posterior q does not contain these votes.
//
// # The releases of a later round
//
// A round has four public inputs: a point θ_t, a clip C for gradients, the curvature Ā of a
// typical client, and a clip K for curvatures. Let κ = n. A client with gradient ∇ℓ and
// information Λ at θ_t computes
//
//	F = κ(κI + Λ)⁻¹        g = F∇ℓ        W = κ(I − F)
//	u = g·min(1, C/‖g‖)    s = 1 if ‖g‖ ≤ C, else (1 − 1/d)·C/‖g‖
//	D = (W − Ā)·min(1, K/‖W − Ā‖)
//
// g and W are the gradient and the curvature of the client's likelihood after an effect of this
// client with distribution N(0, I/κ) is integrated out. F bounds the contribution of a client with
// many records. If the target is the pooled posterior, F = I. s is tr(∂u/∂g)/d, the slope of the
// clip averaged over directions. The client releases the vector
//
//	[√a₁ u/C; √a₂ vec D/K; √a₃ vec uuᵀ/C²; √a₄ ‖D‖²/K²; √a₅ s]
//
// where vec lists the lower triangle, with the elements off the diagonal multiplied by √2, so that
// the norm of vec is the Frobenius norm. The shares a₁ to a₅ add up to 1.
//
// # Sensitivity
//
// Every block divided by its √a has norm at most 1: ‖u‖ ≤ C; ‖D‖ ≤ K; ‖uuᵀ‖ = ‖u‖² ≤ C²; and the
// two scalars lie in [0, 1]. The squared norm of the vector is therefore at most Σa = 1. This is
// the sensitivity if a client's vector is replaced by zero. If the vector is replaced by another
// client's vector, u/C and D/K change by at most 2. For two positive semidefinite matrices of norm
// at most 1, ‖A − B‖² = ‖A‖² + ‖B‖² − 2tr(AB) ≤ 2, because tr(AB) ≥ 0. The scalars change by at
// most 1. The sensitivity is at most √(4a₁ + 4a₂ + 2a₃ + a₄ + a₅), which is 1.91. The accountant
// uses 2. The bounds do not depend on θ_t, C, Ā and K, so these may be any public numbers. A
// client whose gradient or information is not finite releases zero in all blocks.
//
// # The posterior
//
// q is a mixture over draws of the mean curvature W of clients, of the covariance J of clients'
// gradients, and of the slope ρ of the clip. Given a draw, the likelihood is Gaussian. Let θ̂ be
// the mode of the clients' likelihood. Then the mean gradient of U clients is W(θ̂ − θ_t) with
// covariance J/U plus the noise. J contains the differences between clients, so q describes the
// mean of the population from which the clients are drawn. The posterior of W has three sources:
// the prior, the released curvatures, and the differences of gradients between rounds. The draws
// use public random numbers, so all machines compute the same q.
//
// # Errors that q does not include
//
// If the distribution of gradients is skewed, a clip moves the mode. If [Setting].Skewed is set, q
// accounts for this bias as if every clipped client lost a gradient of norm C, all in the same
// unknown direction. A client whose gradient is much longer loses more than C. The first clip is
// computed as if the prior were isotropic.
package population
