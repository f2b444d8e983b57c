package pvi

import (
	"math"

	"fedpvi/dpmech"
	"fedpvi/pvi/study"
)

// A Noise is what hides a release: the clip C, the noise multiplier σ, and the sd of a
// client's noise.
type Noise struct {
	Clip       float64
	Multiplier float64
	SD         float64 // of a client's noise in one release
	Sigma      int64   // the same, in steps of the lattice
	Lattice    dpmech.Lattice
}

// Noise returns what hides a client's releases. The study must make a promise.
func (p *Protocol) Noise() Noise {
	var m interface {
		Clip() float64
		NoiseMultiplier() float64
		ShareSigma() int64
		Lattice() dpmech.Lattice
	}
	if m = p.sampled; p.sampled == nil {
		m = p.Mechanism()
	}
	return Noise{m.Clip(), m.NoiseMultiplier(), m.Lattice().Float(m.ShareSigma()), m.ShareSigma(), m.Lattice()}
}

// AveragedNoise returns the sd of a client's noise on the sum of its clipped gradients,
// averaged over all steps and their draws: what no number of steps takes away.
func (p *Protocol) AveragedNoise() float64 {
	if p.study.Inference.Solver == study.DPSEP {
		return p.siteNoise()
	}
	draws := p.descent.Total * p.study.Inference.Descent.Draws
	return p.Noise().SD / (p.descent.Rate * math.Sqrt(float64(draws)))
}
