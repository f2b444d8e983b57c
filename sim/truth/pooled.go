package truth

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/hierarchy"
	"fedpvi/pvi/solver"
	"fedpvi/sim"
)

// A pooled is the fit of all records in one place. It is a normal distribution at the posterior
// mode, whose precision is that of the prior plus the Fisher information at the mode. For a model
// with groups, newAveraged uses the posterior mean and covariance instead.
type pooled struct {
	clients     []*solver.Regression
	mode        []float64
	information *mat.SymDense // information of the records at the mode
	precision   *mat.SymDense // precision of the posterior
	prior       []float64     // precision of the prior of each coordinate
	cov         *mat.SymDense // covariance of the posterior

	// groups is the joint prior of the coordinates on which the records' likelihood depends, given
	// the spreads of the groups. order has the indices of these coordinates in θ, followed by those
	// of the spreads. Both are nil without groups.
	groups *hierarchy.Prior
	order  []int
}

// newAveraged returns the pooled fit of a model with groups. In place of the mode, it uses the
// posterior mean.
func newAveraged(f *sim.Federation, clients []*solver.Regression) (*pooled, error) {
	reference, err := sim.NewReference(f.Protocol, f.Shards, nil)
	if err != nil {
		return nil, err
	}
	m := f.Protocol.Model()
	p := &pooled{clients: clients, prior: make([]float64, m.Dim())}
	if p.mode, p.cov, err = reference.Moments(); err != nil {
		return nil, err
	}
	if _, err := p.score(p.mode); err != nil {
		return nil, err
	}
	var root mat.Cholesky
	if !root.Factorize(p.cov) {
		return nil, errors.New("the pooled covariance is not positive definite")
	}
	p.precision = new(mat.SymDense)
	p.groups, p.order = m.Hierarchy()
	return p, root.InverseTo(p.precision)
}

const (
	mostScorings = 200
	arrived      = 1e-10 // the search for the mode ends after a step with this squared length, in posterior sds
)

// newPooled finds the mode by Fisher scoring, beginning at the prior mean. It halves a step as long
// as the log posterior falls, or the step ends more than slightly beyond the highest point in its
// direction. The second condition matters if the curvature is twice the information, as it is for
// the dispersion of counts. Each whole step would then end about as far beyond the highest point as
// it began before it.
func newPooled(m *fit.Model, clients []*solver.Regression) (*pooled, error) {
	d := m.Dim()
	f := &pooled{clients: clients, mode: make([]float64, d), prior: make([]float64, d)}
	mean := make([]float64, d)
	for i := range d {
		prior := m.Parameters.Prior(i)
		mean[i], f.prior[i] = prior.Mean, 1/(prior.SD*prior.SD)
	}
	copy(f.mode, mean)
	value, _ := f.logPosterior(mean, f.mode, mat.NewVecDense(d, nil))
	for range mostScorings {
		gradient, err := f.score(mean)
		if err != nil {
			return nil, err
		}
		var root mat.Cholesky
		if !root.Factorize(f.precision) {
			return nil, errors.New("the pooled fit has a precision that is not positive definite")
		}
		var move mat.VecDense
		if err := root.SolveVecTo(&move, gradient); err != nil {
			return nil, err
		}
		f.cov = mat.NewSymDense(d, nil)
		if err := root.InverseTo(f.cov); err != nil {
			return nil, err
		}
		slope := mat.Dot(gradient, &move)
		if slope < arrived {
			return f, nil
		}
		moved := false
		next := make([]float64, d)
		for length := 1.0; length > 1e-9 && !moved; length /= 2 {
			for i := range next {
				next[i] = f.mode[i] + length*move.AtVec(i)
			}
			if at, left := f.logPosterior(mean, next, &move); at >= value && left >= -slope/2 {
				moved, value = true, at
				copy(f.mode, next)
			}
		}
		if !moved {
			return f, nil // apart from rounding, no step raises the log posterior
		}
	}
	return nil, errors.New("the pooled fit still moves")
}

// logPosterior returns the log posterior at theta, up to a constant, and its slope in a direction.
func (f *pooled) logPosterior(mean, theta []float64, along *mat.VecDense) (value, slope float64) {
	gradient := make([]float64, len(theta))
	for _, c := range f.clients {
		value += c.AddGradient(gradient, theta)
	}
	for i, p := range f.prior {
		off := theta[i] - mean[i]
		value -= p * off * off / 2
		gradient[i] -= p * off
	}
	if math.IsNaN(value) {
		return math.Inf(-1), 0
	}
	return value, mat.Dot(mat.NewVecDense(len(theta), gradient), along)
}

// score sets the information and the precision at the mode. It returns the gradient of the log
// posterior there.
func (f *pooled) score(mean []float64) (*mat.VecDense, error) {
	d := len(f.mode)
	sum := mat.NewVecDense(d, nil)
	f.information, f.precision = mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
	for _, c := range f.clients {
		gradient, information, err := c.Score(f.mode)
		if err != nil {
			return nil, err
		}
		sum.AddVec(sum, mat.NewVecDense(d, gradient))
		f.information.AddSym(f.information, information)
	}
	f.precision.CopySym(f.information)
	for i, p := range f.prior {
		sum.SetVec(i, sum.AtVec(i)-p*(f.mode[i]-mean[i]))
		f.precision.SetSym(i, i, f.precision.At(i, i)+p)
	}
	return sum, nil
}
