// Package onestep says how far a posterior that was found under privacy noise may
// be from the true parameters: the spread that the records leave, and what the
// noise adds to it.
//
// An [Evidence] is a noisy gradient and a noisy curvature of the log likelihood at
// one public point, and the prior. Its one-step estimate (Le Cam, "On the asymptotic
// theory of estimation and testing hypotheses", 1956) is a Newton step from the
// point, and its covariance counts what is uncertain of both: with Ĥ the curvature,
// P the prior's precision, ĝ the gradient with the prior's, and noises of sd τ and τ_H,
//
//	m = θ̃ + (Ĥ + P)⁻¹ ĝ
//	V = mean_k[ H_k⁻¹ + τ² H_k⁻² ] + Var_k[ H_k⁻¹ ĝ_k ],  H_k = Ĥ + E_k + P,
//
// where E_k is fresh noise of the curvature's law, and eigenvalues of Ĥ and of
// Ĥ + E_k that are no larger than noise is are raised to what noise leaves open.
// Everything is a function of what was released.
//
// [Closed] needs no release and no more than the noise's size.
package onestep
