package pvi

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/onestep"
	"fedpvi/pvi/study"
)

// ClosedFormNoise returns τ, the sd of the noise of all clients on the sum of clipped
// gradients, averaged over the steps whose average clients propose. The solver must be
// DPSVI or DPSEP.
func (p *Protocol) ClosedFormNoise() float64 {
	if p.study.Inference.Solver == study.DPSEP {
		return p.siteNoise() * math.Sqrt(float64(len(p.roster.Clients)))
	}
	steps := p.descent.Steps
	if p.Summed() {
		steps = p.descent.Total
	}
	window := max(p.study.Inference.Descent.Average, 1/float64(steps))
	return p.AveragedNoise() * math.Sqrt(float64(len(p.roster.Clients))/window)
}

// ClosedForm returns mean and covariance of q, given by its natural parameters, with
// what the noise of private gradient steps adds, from nothing but its size. The solver
// must be DPSVI or DPSEP.
func (p *Protocol) ClosedForm(natural []float64) (mean []float64, cov *mat.SymDense, err error) {
	mean, cov, err = p.family.Moments(natural)
	if err != nil {
		return nil, nil, err
	}
	tau := p.ClosedFormNoise()
	for i := range mean {
		cov.SetSym(i, i, onestep.Closed(1/cov.At(i, i), tau))
	}
	return mean, cov, nil
}
