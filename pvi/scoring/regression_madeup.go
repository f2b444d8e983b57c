package scoring

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/solver"
)

// A madeUp has made-up records of a regression. Their regressors are independent and follow the
// margins, and their random numbers are fixed.
type madeUp struct {
	*regression
	*Problem
	x           []float64              // regressors of the records, one record after another
	outcome     []float64              // two standard normal numbers for the outcome of each record
	predict     [][]float64            // standard normal numbers for each predictor and record, for an uncertain θ
	known       *latest[*weights]      // weights for the method guess
	information *latest[*mat.SymDense] // mean curvature of a record
	frailty     float64                // variance of the random factor of a count's mean; 0 for other outcomes
}

// with multiplies the mean of each count by a random factor of mean 1 and variance frailty.
func (m *madeUp) with(frailty float64) *madeUp {
	out := *m
	out.frailty = frailty
	return &out
}

// outcomeOf returns the outcome of record i if its predictors are eta.
func (m *madeUp) outcomeOf(i int, eta []float64) float64 {
	z := [2]float64{m.outcome[2*i], m.outcome[2*i+1]}
	y := m.response.Outcome(eta, z)
	if m.frailty > 0 {
		y = solver.Overdispersed(eta[0], m.frailty, z)
	}
	return min(max(y, m.low), m.high)
}

func (r *regression) madeUp(p *Problem, x []float64) population {
	m := &madeUp{regression: r, Problem: p, x: x, outcome: p.normals(2*madeUpRecords, "outcomes", 0), known: new(latest[*weights]), information: new(latest[*mat.SymDense])}
	for a := range r.predictors() {
		m.predict = append(m.predict, p.normals(madeUpRecords, "predictors", a))
	}
	return m
}

func (m *madeUp) row(i int) []float64 {
	n := len(m.regression.columns)
	return m.x[i*n : (i+1)*n]
}

func (m *madeUp) curvature(theta []float64) *mat.SymDense {
	return m.information.at(theta, func() *mat.SymDense { return m.meanCurvature(theta) })
}

func (m *madeUp) meanCurvature(theta []float64) *mat.SymDense {
	d, k, w := m.dim, m.predictors(), m.workspace()
	factors := mat.NewDense(madeUpRecords*k, d, nil)
	for i := range madeUpRecords {
		w.predict(m.row(i), theta)
		w.information()
		for c := range k {
			w.factor(factors.RawRowView(i*k+c), m.row(i), c)
		}
	}
	sum := mat.NewSymDense(d, nil)
	sum.SymOuterK(1.0/madeUpRecords, factors.T())
	return sum
}

func (m *madeUp) scores(theta []float64, cov *mat.SymDense, each func(i int, score []float64)) {
	w, k := m.workspace(), m.predictors()
	row := make([]float64, m.dim)
	spread, root := make([]float64, k*k), make([]float64, k*k)
	for i := range madeUpRecords {
		x := m.row(i)
		w.predict(x, theta)
		drawn := slices.Clone(w.eta)
		if cov != nil {
			w.predictorCovariance(spread, x, cov)
			rootOf(root, spread, k)
			for a := range k {
				for b := range a + 1 {
					drawn[a] += root[a*k+b] * m.predict[b][i]
				}
			}
		}
		y := m.outcomeOf(i, drawn)
		w.score(row, x, y)
		each(i, row)
	}
}

// predictorCovariance writes the covariance of the predictors to dst, if θ has covariance cov.
func (s *workspace) predictorCovariance(dst, x []float64, cov *mat.SymDense) {
	s.filled = s.filled[:0]
	for j, v := range x {
		if v != 0 {
			s.filled = append(s.filled, j)
		}
	}
	k, raw := len(s.eta), cov.RawSymmetric()
	for a := range k {
		for b := range a + 1 {
			first, u, rows := s.gradient(b, x)
			second, v, columns := s.gradient(a, x)
			var sum float64
			for n, i := range rows {
				row := raw.Data[(first+i)*raw.Stride+second:]
				if a == b {
					sum += u[i] * u[i] * row[i]
					for _, j := range columns[n+1:] {
						sum += 2 * u[i] * v[j] * row[j]
					}
					continue
				}
				for _, j := range columns {
					sum += u[i] * v[j] * row[j]
				}
			}
			dst[a*k+b], dst[b*k+a] = sum, sum
		}
	}
}

// gradient returns the gradient of predictor a from coordinate first on, and the indices of its
// nonzero values.
func (s *workspace) gradient(a int, x []float64) (first int, values []float64, filled []int) {
	if a == s.locations {
		return s.dim - 1, []float64{1}, []int{0}
	}
	return a * len(x), x, s.filled
}

func (m *madeUp) released(*observation, []float64) (whole, removed []float64, lost *mat.Dense) {
	return nil, nil, nil
}

func (m *madeUp) unknown() float64 { return 1 }

func (m *madeUp) undrawn([]float64) []bool { return nil }

func (m *madeUp) balances([]float64) []float64 { return nil }

// The margins of a regression say nothing about its outcome.
func (m *madeUp) start(*margins) []float64 { return nil }

func (m *madeUp) drawn(theta []float64, number int) Records {
	w, z := m.workspace(), m.normals(2*madeUpRecords, "foreseen outcomes", number)
	outcomes := make([]float64, madeUpRecords)
	for i := range outcomes {
		w.predict(m.row(i), theta)
		y := m.response.Outcome(w.eta, [2]float64{z[2*i], z[2*i+1]})
		outcomes[i] = min(max(y, m.low), m.high)
	}
	return &rows{m.regression, func(_ []float64, i int) []float64 { return m.row(i) }, func(i int) float64 { return outcomes[i] }, madeUpRecords}
}

// A curved holds a factor A of the information matrix A Aᵀ of a record, in the units of norm.
type curved struct{ factors *mat.Dense } // Aᵀ, by rows

func (r *regression) newCurved() *curved { return &curved{mat.NewDense(r.predictors(), r.dim, nil)} }

// norm stores the factor A of the record in w, and returns ‖A Aᵀ‖.
func (c *curved) norm(w *workspace, x []float64, units whitening) float64 {
	w.information()
	k := w.predictors()
	var squares float64
	for a := range k {
		row := c.factors.RawRowView(a)
		w.factor(row, x, a)
		units.apply(row, w.vector)
		for b := range a + 1 {
			inner := dot(row, c.factors.RawRowView(b))
			squares += inner * inner
			if b < a {
				squares += inner * inner
			}
		}
	}
	return math.Sqrt(squares)
}

// weights has the Fisher information about the predictors at one point, averaged over made-up
// records.
type weights struct {
	all    []float64   // mean over all records, a matrix by rows
	levels [][]float64 // for each level of each factor, the baseline last: mean over someRecords records, as if all had this level; may be nil
}

// A latest keeps the value of a slow function of θ at the last point.
type latest[T any] struct {
	mu    sync.Mutex
	theta []float64 // nil before the first point
	value T
}

// at returns the value at θ, which callers must not change.
func (l *latest[T]) at(theta []float64, compute func() T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.theta == nil || !slices.Equal(l.theta, theta) {
		l.theta, l.value = slices.Clone(theta), compute()
	}
	return l.value
}

// someRecords is the number of made-up records over which the information at a level is averaged.
const someRecords = 500

// weights returns the mean information of a record about its predictors at θ. If there is one
// predictor of the location and the information depends on θ, it also returns a mean for each
// level, on which the information mostly depends.
func (m *madeUp) weights(theta []float64, factors [][]int) *weights {
	w, k := m.workspace(), m.predictors()
	out := &weights{all: make([]float64, k*k)}
	for i := range madeUpRecords {
		w.predict(m.row(i), theta)
		m.response.Information(w.eta, w.w)
		for a, v := range w.w {
			out.all[a] += v / madeUpRecords
		}
	}
	if m.locations > 1 || m.regression.linear {
		return out
	}
	for _, f := range factors {
		levels := make([]float64, len(f)+1)
		for i := range someRecords {
			x := m.row(i)
			w.predict(x, theta)
			rest, value := w.eta[0], 1.0
			if m.regression.columns[f[0]].kind == slope { // a record has at most one nonzero slope of this factor
				value = 0
				for _, j := range f {
					value += x[j]
				}
			}
			for _, j := range f {
				rest -= theta[j] * x[j]
			}
			for n := range levels {
				if w.eta[0] = rest; n < len(f) {
					w.eta[0] += theta[f[n]] * value
				}
				m.response.Information(w.eta, w.w)
				levels[n] += w.w[0] / someRecords
			}
		}
		out.levels = append(out.levels, levels)
	}
	return out
}

// The curvature follows from the mean information about the predictors at θ.
func (m *madeUp) guess(of *margins, theta []float64) func(random []float64) *mat.SymDense {
	w := m.known.at(theta, func() *weights { return m.weights(theta, of.factors) })
	return func(random []float64) *mat.SymDense { return m.regression.curvature(of, w, random) }
}

// curvature returns the information of all records at θ, as if their regressors were independent
// and followed the margins. weights holds the information of a record about its predictors. random
// is passed to [margins.moments].
func (r *regression) curvature(m *margins, weights *weights, random []float64) *mat.SymDense {
	share, mean, square := m.moments(random)
	k, n := r.predictors(), len(m.columns)
	sum := mat.NewSymDense(r.dim, nil)
	share = m.tilted(weights, share)
	for a := range r.locations {
		for b := range a + 1 {
			v := weights.all[a*k+b]
			for i, c := range m.columns {
				for j, e := range m.columns {
					if a > b || i >= j {
						cross := m.both(c, e, share) * m.product(c, e, mean, square)
						sum.SetSym(a*n+i, b*n+j, m.Records*v*cross)
					}
				}
			}
		}
	}
	if r.scale {
		last := r.dim - 1
		sum.SetSym(last, last, m.Records*weights.all[k*k-1])
	}
	return sum
}

// both returns the probability that the indicators of both columns are 1.
func (m *margins) both(c, e column, share []float64) float64 {
	switch {
	case c.indicator < 0 && e.indicator < 0:
		return 1
	case c.indicator < 0:
		return share[e.indicator]
	case e.indicator < 0 || c.indicator == e.indicator:
		return share[c.indicator]
	case c.factor == e.factor:
		return 0
	}
	return share[c.indicator] * share[e.indicator]
}

// product returns the mean of the product of the columns' values.
func (m *margins) product(c, e column, mean, square []float64) float64 {
	of := func(c column) float64 {
		if c.value < 0 {
			return 1
		}
		return m.unit[c.value] * mean[c.value]
	}
	if c.value >= 0 && c.value == e.value {
		return m.unit[c.value] * m.unit[c.value] * square[c.value]
	}
	return of(c) * of(e)
}

// tilted multiplies the share of each level by its entry in weights and normalises the shares of
// each factor. The result is the distribution of levels among records drawn with these weights.
func (m *margins) tilted(weights *weights, share []float64) []float64 {
	out := slices.Clone(share)
	for i, levels := range weights.levels {
		f := m.factors[i]
		baseline := 1.0
		var total float64
		for n, j := range f {
			total += share[j] * levels[n]
			baseline -= share[j]
		}
		if m.columns[f[0]].levels > len(f) {
			total += max(baseline, 0) * levels[len(f)]
		}
		if !(total > 0) {
			continue
		}
		for n, j := range f {
			out[j] = share[j] * levels[n] / total
		}
	}
	return out
}
