// Package onestep computes how far a posterior that was found under privacy noise may be from the true parameters: the
// spread that the records leave, and the part that the noise adds.
//
// An [Evidence] is a noisy gradient and a noisy curvature of the log likelihood at one public point, and the prior. Its
// one-step estimate (Le Cam, "On the asymptotic theory of estimation and testing hypotheses", 1956) is a Newton step from
// the point. Its covariance includes the uncertainty of both. With Ĥ the curvature, P the prior's precision, ĝ the
// gradient with the prior's, and noises of sd τ and τ_H,
//
//	m = θ̃ + A ĝ,  A = (Ĥ + P)⁻¹
//	V = mean_k[ (I − AH_k) V₁ (I − AH_k)ᵀ + A (H_k + τ²I) A ],
//
// where H_k is Ĥ with fresh noise of the curvature's law, without its negative part, plus P. The point was found from
// gradients with noise τ₁, and V₁ = (P + Ĥ²(Ĥ + τ₁²)⁻¹)⁻¹ is the covariance of its error. Eigenvalues of Ĥ that are no
// larger than the noise are raised to the size that the noise permits: along them the step is short, and the error of θ̃
// that it leaves is the first term. If Ĥ is known, V is (Ĥ + P)⁻¹ + τ²(Ĥ + P)⁻². All of it is a function of the release.
//
// [Closed] needs no release: it follows from the size of the noise.
package onestep
