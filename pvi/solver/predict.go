package solver

import "math"

// Predict returns the log of what q expects the likelihood of outcome y to be, were it
// the outcome of record i, and the outcome that q expects: the posterior predictive
// density and mean.
func (r *Regression) Predict(i int, y float64, q *Approximation) (logDensity, mean float64) {
	k := r.response.size()
	w := newWorkspace(k)
	r.predict(w.mean, i, q.Mean)
	r.spread(w.root, i, q)
	logs := make([]float64, len(r.rule.weights))
	largest := math.Inf(-1)
	for n, weight := range r.rule.weights {
		w.place(r.rule, n)
		logs[n] = math.Log(weight) + r.response.eval(y, w.eta, w.g, w.h)
		largest = max(largest, logs[n])
		mean += weight * r.response.mean(w.eta)
	}
	var sum float64
	for _, log := range logs {
		sum += math.Exp(log - largest)
	}
	return largest + math.Log(sum), mean
}
