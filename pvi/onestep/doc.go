// Package onestep computes how far a posterior that was found under privacy noise may be from the true parameters: the
// spread that the records leave, and the part that the noise adds.
//
// An [Evidence] is a noisy gradient and a noisy curvature of the log likelihood at
// one public point, and the prior. Its one-step estimate (Le Cam, "On the asymptotic
// theory of estimation and testing hypotheses", 1956) is a Newton step from the
// point, and its covariance counts what is uncertain of both: with Ĥ the curvature,
// P the prior's precision, ĝ the gradient with the prior's, and noises of sd τ and τ_H,
//
//	m = θ̃ + A ĝ,  A = (Ĥ + P)⁻¹
//	V = mean_k[ (I − AH_k) V₁ (I − AH_k)ᵀ + A (H_k + τ²I) A ],
//
// where H_k is Ĥ with fresh noise of the curvature's law and without its negative part, and P, and
// V₁ = (P + Ĥ²(Ĥ + τ₁²)⁻¹)⁻¹ is by how much θ̃ may be off, which was found from gradients with
// noise τ₁. Eigenvalues of Ĥ that are no larger than noise is are raised to what noise leaves
// open: along them the step is short, and what it leaves of the error of θ̃ is the first term.
// With Ĥ known V is (Ĥ + P)⁻¹ + τ²(Ĥ + P)⁻². Everything is a function of what was released.
//
// [Closed] needs no release and no more than the noise's size.
package onestep
