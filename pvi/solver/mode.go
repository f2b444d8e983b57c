package solver

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/gaussian"
)

const (
	mostOfMode = 200
	atMode     = 1e-20 // squared length, in posterior sds, of a step that ends the search
	steepest   = 1e12  // the search fails if mode.shortened exceeds this
)

// Mode writes the Laplace approximation of the posterior to dst: the normal distribution, in the
// full family, at the posterior mode with the curvature as its precision. It takes Newton steps
// from the prior mean, which cost far less than steps of [Pooled]. It returns false if it finds no
// mode with a positive definite curvature.
//
// A step uses the curvature plus a multiple of the diagonal of the prior's precision (Levenberg
// 1944, Marquardt 1963). The multiple grows if a step would lower the log posterior or the matrix
// is not positive definite, and otherwise falls towards 0.
func Mode(dst, prior []float64, all []Likelihood) bool {
	d := all[0].Dim()
	family := gaussian.Full(d)
	m := &mode{energy: energy{likelihood: Together(all), family: family, point: true}, prior: prior, theta: make([]float64, d)}
	if family.Mean(m.theta, prior) != nil || !m.look(m.theta) {
		return false
	}
	for range mostOfMode {
		length, moved := m.step()
		if !moved && m.shortened > steepest || math.IsNaN(length) {
			return false
		}
		if length <= atMode || !moved && length <= rounding {
			return m.found(dst)
		}
	}
	return false
}

// A mode searches for the mode of a posterior. value, slope and curvature are the log posterior at
// theta and its derivatives.
type mode struct {
	energy
	prior []float64 // natural parameters of the prior

	theta     []float64
	value     float64
	slope     *mat.VecDense
	curvature *mat.SymDense // negative second derivatives
	shortened float64       // multiple of the diagonal of the prior's precision that step adds
}

// look moves to theta and computes the log posterior and its derivatives. If a number is not
// finite, it leaves m unchanged and returns false.
func (m *mode) look(theta []float64) bool {
	d := len(theta)
	e := NewExpected(m.family)
	q := &Approximation{Family: m.family, Mean: theta, Point: true}
	m.likelihood.AddExpected(e, q)
	value := e.Value + q.expected(m.prior)
	if !e.Finite() || math.IsNaN(value) || math.IsInf(value, 0) {
		return false
	}
	slope, curvature := mat.NewVecDense(d, e.Gradient), mat.NewSymDense(d, nil)
	for i := range d {
		slope.SetVec(i, slope.AtVec(i)+m.prior[i])
		for j := range i + 1 {
			precision := m.prior[gaussian.Packed(d, i, j)]
			curvature.SetSym(i, j, precision-e.Hessian[gaussian.Packed(d, i, j)-d])
			slope.SetVec(i, slope.AtVec(i)-precision*theta[j])
			if i != j {
				slope.SetVec(j, slope.AtVec(j)-precision*theta[i])
			}
		}
	}
	m.theta, m.value, m.slope, m.curvature = theta, value, slope, curvature
	return true
}

// step tries one Newton step and takes it unless it lowers the log posterior. It returns the
// squared length of the full step in the metric of steeper. The length is NaN if no multiple up to
// steepest makes this matrix positive definite.
func (m *mode) step() (length float64, moved bool) {
	d := len(m.theta)
	var root mat.Cholesky
	for !root.Factorize(m.steeper()) {
		if m.shortened > steepest {
			return math.NaN(), false
		}
		m.shorten()
	}
	var move mat.VecDense
	if err := root.SolveVecTo(&move, m.slope); err != nil {
		return math.NaN(), false
	}
	length = mat.Dot(m.slope, &move)
	share := 1.0
	if reach := m.likelihood.Reach(move.RawVector().Data); reach > farthest {
		share = farthest / reach
	}
	next := make([]float64, d)
	for i := range next {
		next[i] = m.theta[i] + share*move.AtVec(i)
	}
	before := *m
	if !m.look(next) || m.value < before.value {
		shortened := m.shortened
		*m = before
		m.shortened = shortened
		m.shorten()
		return length, false
	}
	m.shortened /= 10
	if m.shortened < 1e-6 {
		m.shortened = 0
	}
	return length, true
}

func (m *mode) shorten() { m.shortened = max(10*m.shortened, 1e-3) }

// steeper returns the curvature plus m.shortened times the diagonal of the prior's precision.
func (m *mode) steeper() *mat.SymDense {
	d := len(m.theta)
	out := mat.NewSymDense(d, nil)
	out.CopySym(m.curvature)
	for i := range d {
		out.SetSym(i, i, out.At(i, i)+m.shortened*m.prior[gaussian.Packed(d, i, i)])
	}
	return out
}

// found writes the natural parameters of the normal distribution with mean theta and precision
// curvature to dst. It returns false if that is not proper.
func (m *mode) found(dst []float64) bool {
	d := len(m.theta)
	for i := range d {
		dst[i] = 0
		for j := range d {
			dst[i] += m.curvature.At(i, j) * m.theta[j]
		}
		for j := range i + 1 {
			dst[gaussian.Packed(d, i, j)] = m.curvature.At(i, j)
		}
	}
	return m.family.Check(dst) == nil
}
