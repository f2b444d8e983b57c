package solver

// Times returns a likelihood that counts each record of l the given number of times, not
// necessarily whole.
func Times(l Likelihood, times float64) Likelihood {
	if times == 1 {
		return l
	}
	return &repeated{Likelihood: l, times: times}
}

type repeated struct {
	Likelihood
	times float64
	sum   []float64
	e     *Expected
}

// AddGradient implements [Likelihood].
func (r *repeated) AddGradient(dst, theta []float64) float64 {
	if r.sum == nil {
		r.sum = make([]float64, len(dst))
	}
	clear(r.sum)
	value := r.Likelihood.AddGradient(r.sum, theta)
	for i, g := range r.sum {
		dst[i] += r.times * g
	}
	return r.times * value
}

// AddExpected implements [Likelihood].
func (r *repeated) AddExpected(e *Expected, q *Approximation) {
	if r.e == nil {
		r.e = NewExpected(q.Family)
	}
	r.e.Value = 0
	clear(r.e.Gradient)
	clear(r.e.Hessian)
	r.Likelihood.AddExpected(r.e, q)
	e.Value += r.times * r.e.Value
	for i, g := range r.e.Gradient {
		e.Gradient[i] += r.times * g
	}
	for k, h := range r.e.Hessian {
		e.Hessian[k] += r.times * h
	}
}
