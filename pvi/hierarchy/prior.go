package hierarchy

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"
)

// A Prior is the prior in the package documentation: independent normal coordinates, and effects of
// groups with unknown spreads.
type Prior struct {
	Mean, SD []float64 // ignored for the coordinates of an effect
	Effects  []Effect
}

// An Effect is a set of consecutive coordinates of θ drawn from one normal distribution with mean
// 0.
type Effect struct {
	First, Levels int     // index of the first coordinate; number of coordinates
	Scale         float64 // scale of the half-normal prior of the spread
}

// spread returns the Φ(z)-quantile of the spread's prior.
func (e *Effect) spread(z float64) float64 {
	above := math.Erfc(z/math.Sqrt2) / 2 // probability of a larger spread
	if above < 1e-6 {
		return -e.Scale * mathext.NormalQuantile(above/2) // math.Erfcinv would lose a tiny argument, because it subtracts it from 1
	}
	return e.Scale * math.Sqrt2 * math.Erfcinv(above)
}

// Moments returns the prior mean and covariance of θ and of the spreads τ, in this order.
func (p *Prior) Moments() (mean []float64, cov *mat.SymDense) {
	size := len(p.Mean) + len(p.Effects)
	mean, cov = append([]float64(nil), p.Mean...), mat.NewSymDense(size, nil)
	for i, sd := range p.SD {
		cov.SetSym(i, i, sd*sd)
	}
	for _, e := range p.Effects {
		i := len(mean)
		mean = append(mean, e.Scale*math.Sqrt(2/math.Pi))
		cov.SetSym(i, i, e.Scale*e.Scale*(1-2/math.Pi))
	}
	return mean, cov
}

// Draw returns a draw of θ from the prior, as a function of standard normal numbers for each
// coordinate and then for each spread.
func (p *Prior) Draw(z []float64) []float64 {
	theta := make([]float64, len(p.Mean))
	for i := range theta {
		theta[i] = p.Mean[i] + p.SD[i]*z[i]
	}
	for n, e := range p.Effects {
		spread := e.Scale * math.Abs(z[len(theta)+n])
		for i := e.First; i < e.First+e.Levels; i++ {
			theta[i] = spread * z[i]
		}
	}
	return theta
}

// A Likelihood is exp(hᵀθ − ½ θᵀKθ) with a positive semidefinite matrix K.
type Likelihood struct {
	Precision *mat.SymDense // the matrix K
	Linear    []float64     // the vector h
}

// ErrNotFinite is the error of a computation whose numbers overflow.
var ErrNotFinite = errors.New("hierarchy: the numbers of the posterior overflow")

// conditional holds the posterior of θ for given spreads.
type conditional struct {
	spreads  []float64
	sd       []float64 // prior sd of every coordinate given the spreads
	root     mat.Cholesky
	move     []float64 // A⁻¹b: posterior minus prior mean of θ, in prior sds
	evidence float64   // log p(h | τ)
}

// given returns the posterior of θ for standardised spreads z (see [Effect.spread]).
func (p *Prior) given(l *Likelihood, z []float64) (*conditional, error) {
	d := len(p.Mean)
	c := &conditional{spreads: make([]float64, len(z)), sd: append([]float64(nil), p.SD...)}
	centre := append([]float64(nil), p.Mean...)
	for e, effect := range p.Effects {
		c.spreads[e] = effect.spread(z[e])
		for i := effect.First; i < effect.First+effect.Levels; i++ {
			c.sd[i], centre[i] = c.spreads[e], 0
		}
	}
	a := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			a.SetSym(i, j, c.sd[i]*c.sd[j]*l.Precision.At(i, j))
		}
	}
	if err := factorize(&c.root, a); err != nil {
		return nil, err
	}
	b := mat.NewVecDense(d, nil)
	b.MulVec(l.Precision, mat.NewVecDense(d, centre))
	for i, h := range l.Linear {
		b.SetVec(i, c.sd[i]*(h-b.AtVec(i)))
	}
	solved := mat.NewVecDense(d, nil)
	if err := c.root.SolveVecTo(solved, b); err != nil && infinite(err) {
		return nil, ErrNotFinite
	}
	c.move = solved.RawVector().Data
	c.evidence = (mat.Dot(b, solved) - c.root.LogDet()) / 2
	if math.IsNaN(c.evidence) || math.IsInf(c.evidence, 0) {
		return nil, ErrNotFinite
	}
	return c, nil
}

// factorize sets root to the Cholesky factorisation of I + a, or of a slightly larger matrix if
// rounding made that indefinite. It changes a, and may return ErrNotFinite.
func factorize(root *mat.Cholesky, a *mat.SymDense) error {
	d := a.SymmetricDim()
	scale := mat.Trace(a) / float64(d)
	if math.IsNaN(scale) || math.IsInf(scale, 0) {
		return ErrNotFinite
	}
	add := 1.0
	for jitter := 1e-14; ; jitter *= 10 {
		for i := range d {
			a.SetSym(i, i, a.At(i, i)+add)
		}
		if root.Factorize(a) {
			return nil
		}
		if jitter > 1 {
			return ErrNotFinite
		}
		add = jitter * scale
	}
}

func infinite(err error) bool {
	var c mat.Condition
	return !errors.As(err, &c) || math.IsInf(float64(c), 1)
}

// mean returns the mean of θ, followed by the spreads τ.
func (c *conditional) mean(p *Prior) []float64 {
	out := append([]float64(nil), p.Mean...)
	for _, effect := range p.Effects {
		clear(out[effect.First : effect.First+effect.Levels])
	}
	for i, x := range c.move {
		out[i] += c.sd[i] * x
	}
	return append(out, c.spreads...)
}

// addCov adds weight times SA⁻¹S, the covariance of θ in the package documentation, to sum.
func (c *conditional) addCov(sum *mat.SymDense, weight float64) error {
	var inverse mat.SymDense
	if err := c.root.InverseTo(&inverse); err != nil && infinite(err) {
		return ErrNotFinite
	}
	for i, a := range c.sd {
		for j := i; j < len(c.sd); j++ {
			sum.SetSym(i, j, sum.At(i, j)+weight*a*c.sd[j]*inverse.At(i, j))
		}
	}
	return nil
}
