package dpmech

import (
	"math"
	"math/bits"
)

// A Range bounds the elements of a mechanism's releases, and of sums of these releases, in lattice
// steps.
type Range struct {
	Signal int64 // largest absolute value of an element before the noise
	Noise  int64 // largest absolute value of the noise in an element
}

// Of returns a bound on the elements of a sum of n releases with independent noise. The noise in a
// sum grows with √n.
func (r Range) Of(n int) int64 {
	return int64(n)*r.Signal + int64(math.Ceil(float64(r.Noise)*math.Sqrt(float64(n))))
}

// Range returns a bound that a release of an honest client, or a sum of such releases, exceeds with
// a probability below 2^-64. Receivers can therefore refuse a release beyond the bound.
//
// A sum of up to Terms vectors of norm C has elements of at most Terms·C, and a sum of more vectors
// is saturated to this range. A discrete Gaussian is sub-Gaussian with its parameter σ (Canonne,
// Kamath and Steinke, NeurIPS 2020, Fact 21), and a sum of n discrete Gaussians is sub-Gaussian
// with σ√n. One element of the noise exceeds zσ√n in absolute value with a probability of at most
//
//	p = 2·exp(−z²/2)
//
// and at least one of d elements does so with a probability of at most d·p. This is less than 2^-64
// for
//
//	z² = 2·log(2)·(65 + ⌈log2(d + 1)⌉).
//
// The bound has the same bits on every machine.
func (m *GaussianSum) Range() Range {
	z := math.Sqrt(2 * math.Ln2 * float64(65+bits.Len(uint(m.cfg.Dim))))
	noise := int64(math.Ceil(float64(m.sd) * z))
	return Range{int64(m.cfg.Terms) * m.clip, min(noise, m.noise.Bound())}
}

// Range returns a bound that a release of one step, or a sum of releases of one step, exceeds with
// a probability below 2^-64. See [GaussianSum.Range].
func (s *SampledSum) Range() Range { return s.gate.Range() }
