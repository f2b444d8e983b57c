package solver

import (
	"fedpvi/internal/quadrature"
	"fedpvi/pvi/gaussian"
)

// EachPoint calls visit with n quasi-random points θ of a Gaussian, with equal weights. visit must
// not keep the slice.
func EachPoint(family gaussian.Family, natural []float64, n int, visit func(theta []float64)) error {
	d := family.Dim()
	sample, err := family.Sampler(natural)
	if err != nil {
		return err
	}
	rule := quadrature.QuasiRandom(d, n)
	theta := make([]float64, d)
	for k := range n {
		next := rule.Points[k*d : (k+1)*d]
		sample(theta, func() (z float64) {
			z, next = next[0], next[1:]
			return z
		})
		visit(theta)
	}
	return nil
}

// Mean returns the posterior predictive mean of the outcome of record i.
func (r *Regression) Mean(i int, q *Approximation) (mean float64) {
	w := newWorkspace(r.response.Size())
	r.Predictors(w.mean, i, q.Mean)
	r.Spread(w.root, i, q)
	for n, weight := range r.rule.Weights {
		w.place(r.rule, n)
		mean += weight * r.response.Mean(w.eta)
	}
	return mean
}
