// Package onestep computes the covariance of a posterior that was found under privacy noise. The
// covariance includes two uncertainties: the uncertainty that remains given the records, and the
// uncertainty due to the noise.
//
// An [Evidence] is a noisy gradient and a noisy curvature of the log likelihood at one public point
// θ̃, and the prior. The one-step estimate (Le Cam, "On the asymptotic theory of estimation and
// testing hypotheses", 1956) is a Newton step from this point. The covariance of the estimate
// includes the noise in the gradient and in the curvature. Let Ĥ be the noisy curvature, P the
// prior's precision, ĝ the noisy gradient plus the prior's gradient, τ the sd of the gradient's
// noise and τ_H the sd of the curvature's noise. The estimate m and its covariance V are
//
//	m = θ̃ + A ĝ,  A = (Ĥ + P)⁻¹
//	V = mean_k[ (I − AH_k) V₁ (I − AH_k)ᵀ + A (H_k + τ²I) A ].
//
// H_k is Ĥ plus P plus fresh noise with the distribution of the curvature's noise, with negative
// eigenvalues set to zero before P is added. The point θ̃ was found from gradients with noise of sd
// τ₁, and V₁ = (P + Ĥ²(Ĥ + τ₁²)⁻¹)⁻¹ is the covariance of the error of θ̃. Eigenvalues of Ĥ that
// are no larger than the noise are raised to a size that depends on the noise. Along their
// eigenvectors the step is short, and the first term of V is the error of θ̃ that remains after the
// step. If the curvature has no noise, V is (Ĥ + P)⁻¹ + τ²(Ĥ + P)⁻². The estimate and V are
// functions of the released numbers and of public numbers alone.
//
// [Closed] needs no release, because its result depends only on a precision and on the sd of the
// noise.
package onestep
