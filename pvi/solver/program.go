package solver

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"fedpvi/gpu"
	"fedpvi/internal/quadrature"
	"fedpvi/internal/special"
	"fedpvi/pvi/model"
)

// A Program is the log likelihood of a shard under a record program. If the program's prior is not
// the Gaussian [Base], it includes the client's share of log(prior/base). Expectations are averages
// over fixed quasi-random points, the same for every client, so a study and a pooled fit maximise
// the same function.
type Program struct {
	records gpu.Evaluator
	prior   *model.Shared // evaluator of the prior; nil if the prior equals the base
	base    Base
	share   float64
	rule    *quadrature.Rule
	rough   *quadrature.Rule // quadrature rule of few points
	atMean  bool             // whether to use the Hessian at the mean of q instead of the average

	theta, slope, above, below []float64
	hessian                    []float64 // Hessian at one point, including this client's share of the prior
}

// Base describes q before the first round: independent normal coordinates of θ with these means and
// sds.
type Base struct{ Mean, SD []float64 }

// Expectations are averages over averagedOver quasi-random points, or over roughlyOver points if
// larger errors are allowed ([Approximation]).
const (
	averagedOver = 32
	roughlyOver  = 4
)

// NewProgram returns the likelihood of the rows of a table. If beyond is true, it includes
// share·log(prior/base).
func NewProgram(m *model.Model, table *model.Table, base Base, beyond bool, share float64) (*Program, error) {
	records, err := gpu.CPU{}.Compile(m, table)
	if err != nil {
		return nil, err
	}
	d := m.Dim()
	p := &Program{records: records, base: base, share: share, rule: quadrature.QuasiRandom(d, averagedOver), rough: quadrature.QuasiRandom(d, roughlyOver)}
	if beyond {
		p.prior = m.Shared()
	}
	for _, v := range []*[]float64{&p.theta, &p.slope, &p.above, &p.below} {
		*v = make([]float64, d)
	}
	return p, nil
}

// mostAveraged is the largest dimension for which [Program.CurveAtMean] has no effect.
const mostAveraged = 32

// CurveAtMean makes a program with more than mostAveraged coordinates use the Hessian at the mean
// of q. A Hessian needs two gradients for each coordinate, and an average Hessian needs these at
// each point. The mean of q does not change, because gradients and values remain averages.
func (p *Program) CurveAtMean() { p.atMean = p.Dim() > mostAveraged }

// Dim implements [Likelihood].
func (p *Program) Dim() int { return p.records.Dim() }

// AddGradient implements [Likelihood]. If a record's gradient is not finite, the sum is not
// finite.
func (p *Program) AddGradient(dst, theta []float64) float64 {
	total, err := p.records.Sum(p.slope, &gpu.Query{Draws: [][]float64{theta}, Clip: math.Inf(1)})
	if err != nil {
		panic("solver: " + err.Error()) // unreachable: the query fits this program
	}
	value := total.LogDensity
	if total.Refused > 0 {
		value = math.NaN()
		dst[0] = value
	}
	for i, g := range p.slope {
		dst[i] += g
	}
	return value + p.addPrior(dst, theta)
}

// addPrior adds the gradient of share·log(prior/base) at theta to dst, and returns the value. It
// does nothing if the prior equals the base.
func (p *Program) addPrior(dst, theta []float64) float64 {
	if p.prior == nil {
		return 0
	}
	clear(p.slope)
	p.prior.Set(theta)
	value := p.prior.LogPrior(p.slope)
	for i, x := range theta {
		z := (x - p.base.Mean[i]) / p.base.SD[i]
		value += z*z/2 + math.Log(p.base.SD[i]) + special.HalfLogTwoPi
		dst[i] += p.share * (p.slope[i] + z/p.base.SD[i])
	}
	return p.share * value
}

// AddExpected implements [Likelihood].
func (p *Program) AddExpected(e *Expected, q *Approximation) {
	d := p.Dim()
	rule := p.rule
	var root []float64
	if q.Rough {
		rule = p.rough
	}
	if q.Point {
		rule = quadrature.Point(d)
	} else if q.Covariance != nil {
		if root = cholesky(q.Covariance, d); root == nil {
			e.Value = math.NaN()
			return
		}
	}
	if len(p.hessian) != len(e.Hessian) {
		p.hessian = make([]float64, len(e.Hessian))
	}
	for n, weight := range rule.Weights {
		p.place(rule.Points[n*d:(n+1)*d], q, root)
		sum := make([]float64, d)
		e.Value += weight * p.AddGradient(sum, p.theta)
		for i, g := range sum {
			e.Gradient[i] += weight * g
		}
		if !p.atMean && !p.addHessian(e, weight, q) {
			return
		}
	}
	if p.atMean {
		copy(p.theta, q.Mean)
		p.addHessian(e, 1, q)
	}
}

// place sets p.theta to the mean of q plus root·z, where root is the Cholesky root of the
// covariance of q, or nil if q is diagonal. If z is standard normal, p.theta has the distribution
// q. If q.Point is true, p.theta is the mean of q.
func (p *Program) place(z []float64, q *Approximation, root []float64) {
	d := len(z)
	switch {
	case q.Point:
		copy(p.theta, q.Mean)
		return
	case root == nil:
		for i, x := range z {
			p.theta[i] = q.Mean[i] + math.Sqrt(q.Variance[i])*x
		}
		return
	}
	copy(p.theta, z)
	blas64.Trmv(blas.NoTrans, blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: d, Stride: d, Data: root}, blas64.Vector{N: d, Data: p.theta, Inc: 1})
	for i, m := range q.Mean {
		p.theta[i] += m
	}
}

// addPriorOf adds the gradients of share·log(prior/base) at the query's draws of θ to total, the
// noisy sum of the records' gradients. It multiplies them by the sampling rate, by which the caller
// later divides. scratch must be as long as θ.
func (p *Program) addPriorOf(at *gpu.Query, total, scratch []float64, rate float64) {
	if p.prior == nil {
		return
	}
	one := len(total) / len(at.Draws)
	for k, theta := range at.Draws {
		part := total[k*one:]
		clear(scratch)
		p.addPrior(scratch, theta)
		for i, g := range scratch {
			g *= rate
			part[i] += g
			if at.Joint != nil {
				part[len(scratch)+i] += g * at.Joint[k][i]
			}
		}
	}
}

// addHessian adds the Hessian of the log likelihood at p.theta, multiplied by weight, to e. If a
// density overflows at or near p.theta, it sets e.Value to NaN and returns false.
func (p *Program) addHessian(e *Expected, weight float64, q *Approximation) bool {
	diagonal, hessian := q.Family.Name() == "diagonal", p.records.Hessian
	if diagonal {
		hessian = p.records.HessianDiagonal
	}
	if err := hessian(p.hessian, p.theta); err != nil {
		e.Value = math.NaN()
		return false
	}
	p.addPriorHessian(diagonal)
	for k, h := range p.hessian {
		e.Hessian[k] += weight * h
	}
	return true
}

// addPriorHessian adds the Hessian of share·log(prior/base), or only its diagonal, to p.hessian. It
// uses finite differences.
func (p *Program) addPriorHessian(diagonal bool) {
	if p.prior == nil {
		return
	}
	const step = 1e-5
	for j := range p.theta {
		at := p.theta[j]
		clear(p.above)
		clear(p.below)
		p.theta[j] = at + step
		p.addPrior(p.above, p.theta)
		p.theta[j] = at - step
		p.addPrior(p.below, p.theta)
		p.theta[j] = at
		if diagonal {
			p.hessian[j] += (p.above[j] - p.below[j]) / (2 * step)
			continue
		}
		for i := j; i < len(p.theta); i++ {
			p.hessian[i*(i+1)/2+j] += (p.above[i] - p.below[i]) / (2 * step)
		}
	}
}

// Tolerance implements [Likelihood].
func (p *Program) Tolerance() float64 { return coarse }

// Reach implements [Likelihood]. It returns the largest change of a coordinate, in sds of the base.
func (p *Program) Reach(move []float64) (most float64) {
	for i, x := range move {
		most = math.Max(most, math.Abs(x)/p.base.SD[i])
	}
	return most
}
