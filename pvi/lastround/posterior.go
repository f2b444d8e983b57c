package lastround

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/onestep"
	"fedpvi/pvi/phase"
)

// Posterior returns the mean and covariance of the one-step posterior for an outcome. pointSD is
// the sd of the noise in the sums of gradients from which the rounds computed θ̃. The posterior is
// for reports only: the final q already contains the records, so a factor computed from it would
// count them twice.
func (r *Round) Posterior(o *Outcome, pointSD float64) (mean []float64, cov *mat.SymDense, err error) {
	if o.Verdict != phase.Accepted {
		return nil, nil, errors.New("the last round was void: too few clients answered")
	}
	if err := r.check(o.Gradient, o.Curvature, len(o.Participants)); err != nil {
		return nil, nil, err
	}
	e := &onestep.Evidence{Point: o.Point, PointSD: pointSD}
	e.GradientSD, e.CurvatureSD = r.Noise(len(o.Participants))
	for _, n := range o.Gradient {
		e.Gradient = append(e.Gradient, r.Gradient.Lattice().Float(n))
	}
	for _, n := range o.Curvature {
		e.Curvature = append(e.Curvature, r.Curvature.Lattice().Float(n))
	}
	for _, parameter := range r.model.Parameters.All() {
		e.PriorMean = append(e.PriorMean, parameter.Prior.Mean)
		e.PriorPrecision = append(e.PriorPrecision, 1/(parameter.Prior.SD*parameter.Prior.SD))
	}
	return e.Posterior(o.key())
}

// Noise returns the sds of the noise in an element of the sum of gradients and of curvatures, for
// the given number of answers.
func (r *Round) Noise(answers int) (gradient, curvature float64) {
	root := math.Sqrt(float64(answers))
	return r.Gradient.Lattice().Float(r.Gradient.ShareSigma()) * root, r.Curvature.Lattice().Float(r.Curvature.ShareSigma()) * root
}

func (o *Outcome) key() [32]byte {
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
