package onestep

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Evidence is the released gradient and curvature of the log likelihood at a point, and the
// prior.
type Evidence struct {
	Point     []float64 // point θ̃, of length d
	Gradient  []float64 // noisy gradient of the log likelihood at θ̃
	Curvature []float64 // noisy sum of information matrices at θ̃, packed

	GradientSD  float64 // τ, sd of the noise in every element of Gradient
	CurvatureSD float64 // τ_H, sd of the noise in every element of Curvature
	// PointSD is τ₁, the sd of the noise in the gradient sums from which Point was computed.
	PointSD float64

	PriorMean, PriorPrecision []float64 // means and precisions of independent normal priors
}

const draws = 100

// leastCurvature is the smallest eigenvalue of a curvature in a step, in sds of its noise. In these
// units the noise of a d×d matrix has a norm of about √(2d), so smaller eigenvalues may be noise
// alone.
const leastCurvature = math.Sqrt2

// Posterior returns the mean and covariance of the one-step estimate. Fresh noise is drawn with key
// as the seed. It returns an error if a number is missing or not finite.
func (e *Evidence) Posterior(key [32]byte) (mean []float64, cov *mat.SymDense, err error) {
	if err := e.check(); err != nil {
		return nil, nil, err
	}
	d := len(e.Point)
	n := newNewton(e)
	curvature := unpack(e.Curvature, d)
	if err := n.at(curvature); err != nil {
		return nil, nil, err
	}
	mean = make([]float64, d)
	for i, x := range e.Point {
		mean[i] = x + n.step.AtVec(i)
	}
	cov = mat.NewSymDense(d, nil)
	if e.CurvatureSD == 0 {
		n.addSpread(cov, 1)
		return mean, cov, nil
	}
	return mean, cov, e.average(cov, n, curvature, newNormals(key))
}

// average adds the covariance of the estimate to cov, over draws of the true curvature: the
// released one plus fresh noise.
func (e *Evidence) average(cov *mat.SymDense, n *newton, curvature *mat.SymDense, random *normals) error {
	d := len(e.Point)
	noise := make([]float64, Size(d))
	fresh := mat.NewSymDense(d, nil)
	s, err := newSandwich(e, n.inverse, curvature)
	if err != nil {
		return err
	}
	for range draws {
		random.fill(noise, e.CurvatureSD)
		fresh.AddSym(curvature, unpack(noise, d))
		if err := s.add(cov, fresh, 1.0/draws); err != nil {
			return err
		}
	}
	return nil
}

func (e *Evidence) check() error {
	d := len(e.Point)
	if d == 0 || len(e.Gradient) != d || len(e.Curvature) != Size(d) || len(e.PriorMean) != d || len(e.PriorPrecision) != d {
		return fmt.Errorf("one-step: parts for a point of %d coordinates have other sizes", d)
	}
	for _, v := range [][]float64{e.Point, e.Gradient, e.Curvature, e.PriorMean, e.PriorPrecision, {e.GradientSD, e.CurvatureSD, e.PointSD}} {
		for _, x := range v {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return errors.New("one-step: a number of the evidence is not finite")
			}
		}
	}
	for _, p := range e.PriorPrecision {
		if !(p > 0) {
			return errors.New("one-step: the precision of the prior must be positive")
		}
	}
	if e.GradientSD < 0 || e.CurvatureSD < 0 || e.PointSD < 0 {
		return errors.New("one-step: the sd of noise must not be negative")
	}
	return nil
}

// Closed returns the variance 1/b + τ²/b² of a coordinate whose posterior has precision b, if noise
// of sd τ was added to the gradient.
func Closed(precision, tau float64) float64 {
	return 1/precision + tau*tau/(precision*precision)
}
