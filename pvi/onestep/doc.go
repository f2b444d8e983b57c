// Package onestep computes the covariance of a posterior that was found under privacy noise. It
// includes the uncertainty that remains given the records, and the uncertainty due to the noise.
//
// An [Evidence] consists of the prior, and of a noisy gradient and a noisy curvature of the log
// likelihood at one public point θ̃. The one-step estimate (Le Cam, "On the asymptotic theory of
// estimation and testing hypotheses", 1956) is a Newton step from this point. Its covariance
// includes the noise in the gradient and in the curvature. The symbols are:
//
//   - Ĥ is the noisy curvature, and τ_H is the sd of its noise.
//   - ĝ is the noisy gradient plus the prior's gradient, and τ is the sd of its noise.
//   - P is the prior's precision.
//   - τ₁ is the sd of the noise in the gradients from which θ̃ was computed.
//
// The estimate m and its covariance V are
//
//	m = θ̃ + A ĝ
//	A = (Ĥ + P)⁻¹
//	V = mean_k[ (I − AH_k) V₁ (I − AH_k)ᵀ + A (H_k + τ²I) A ]
//	V₁ = (P + Ĥ²(Ĥ + τ₁²I)⁻¹)⁻¹
//
// H_k is Ĥ plus fresh noise of sd τ_H, with 0 in place of negative eigenvalues, plus P. V₁ is the
// covariance of the error of θ̃.
//
// In A, eigenvalues of Ĥ below √2·τ_H are raised to √2·τ_H. In V₁, eigenvalues below τ_H are
// raised to τ_H. Where an eigenvalue was raised, the step is short, and the first term of V has
// the error of θ̃ that remains after the step.
//
// If the curvature has no noise, then
//
//	V = (Ĥ + P)⁻¹ + τ²(Ĥ + P)⁻².
//
// [Closed] needs no release, only a precision and the sd of the noise.
package onestep
