package solver

import (
	"math"

	"fedpvi/internal/quadrature"
	"fedpvi/pvi/gaussian"
)

// EachPoint calls visit with n quasi-random points θ of a Gaussian. The points have equal weights.
// visit must not keep the slice.
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

// Predict returns the posterior predictive log density of outcome y for record i, and the
// posterior predictive mean.
func (r *Regression) Predict(i int, y float64, q *Approximation) (logDensity, mean float64) {
	k := r.response.Size()
	w := newWorkspace(k)
	r.Predictors(w.mean, i, q.Mean)
	r.Spread(w.root, i, q)
	logs := make([]float64, len(r.rule.Weights))
	largest := math.Inf(-1)
	for n, weight := range r.rule.Weights {
		w.place(r.rule, n)
		logs[n] = math.Log(weight) + r.response.Eval(y, w.eta, w.g, w.h)
		largest = max(largest, logs[n])
		mean += weight * r.response.Mean(w.eta)
	}
	var sum float64
	for _, log := range logs {
		sum += math.Exp(log - largest)
	}
	return largest + math.Log(sum), mean
}
