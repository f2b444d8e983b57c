// Package hierarchy computes the posterior of θ given a normal likelihood
//
//	exp(hᵀθ − ½ θᵀKθ)
//
// under a prior with effects. The coordinates of θ are independent given the spreads of the
// effects. Coordinate i that belongs to no effect is N(m_i, s_i²). The coordinates of effect e, one
// for each group, are N(0, τ_e²), and the spread τ_e is half-normal: the absolute value of a normal
// number.
//
// Given τ the posterior of θ is normal. Let S be the diagonal matrix of the prior sds, A = I + SKS
// and b = S(h − Km). Then
//
//	θ | τ ~ N(m + SA⁻¹b, SA⁻¹S)        log p(h | τ) = ½ bᵀA⁻¹b − ½ log|A|
//
// up to a constant. The posterior of τ has one dimension for each effect. The package integrates
// over it by importance sampling with quasi-random points from a [Region], a normal distribution
// that covers the posterior of τ.
package hierarchy
