package pvi

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/onestep"
)

// OneStepPosterior returns mean and covariance of the one-step posterior of an outcome. It is a
// function of what was opened, and of public numbers.
// It is for reports: the records are in q too, so that a factor made of it would count
// them twice.
func (p *Protocol) OneStepPosterior(o *OneStepOutcome) (mean []float64, cov *mat.SymDense, err error) {
	if o.Verdict != Accepted {
		return nil, nil, errors.New("the last round was void: too few clients answered")
	}
	if err := p.checkOneStep(o.Gradient, o.Curvature, len(o.Participants)); err != nil {
		return nil, nil, err
	}
	e := &onestep.Evidence{Point: o.Point}
	c := p.oneStep
	e.GradientSD, e.CurvatureSD = p.OneStepNoise(len(o.Participants))
	e.PointSD = p.ClosedFormNoise()
	for _, n := range o.Gradient {
		e.Gradient = append(e.Gradient, c.Gradient.Lattice().Float(n))
	}
	for _, n := range o.Curvature {
		e.Curvature = append(e.Curvature, c.Curvature.Lattice().Float(n))
	}
	for _, parameter := range p.model.Parameters.All() {
		e.PriorMean = append(e.PriorMean, parameter.Prior.Mean)
		e.PriorPrecision = append(e.PriorPrecision, 1/(parameter.Prior.SD*parameter.Prior.SD))
	}
	return e.Posterior(o.key())
}

// OneStepNoise returns the sd of the noise on every element of the sums of the last
// round's gradients and curvatures, with so many answers. The study must have one.
func (p *Protocol) OneStepNoise(answers int) (gradient, curvature float64) {
	c, root := p.oneStep, math.Sqrt(float64(answers))
	return c.Gradient.Lattice().Float(c.Gradient.ShareSigma()) * root, c.Curvature.Lattice().Float(c.Curvature.ShareSigma()) * root
}

// key is what the outcome's public random numbers follow from.
func (o *OneStepOutcome) key() [32]byte {
	h := sha256.New()
	io.WriteString(h, "fedpvi/one-step/v1")
	h.Write(o.Round[:])
	for _, sum := range [][]int64{o.Gradient, o.Curvature} {
		for _, n := range sum {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
		}
	}
	return [32]byte(h.Sum(nil))
}
