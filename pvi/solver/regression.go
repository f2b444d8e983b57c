package solver

import (
	"fmt"
	"math"

	"fedpvi/pvi/study"
)

// An Outcome says how a record's outcome is distributed given its predictors: those of
// the family's location, one for every class but the first, then the logarithm of its
// scale if that is learned, then for each effect that varies between groups the
// logarithm of its spread and the group's standardised effect.
type Outcome struct {
	Family           study.Family
	NoiseSD          float64 // of a linear model, 0 if it is learned
	DegreesOfFreedom float64 // of a robust one
	Classes          int     // of a softmax model
	Effects          int     // that vary between groups
}

func (o Outcome) response() response {
	var base response
	switch o.Family {
	case study.Linear:
		base = normal{}
		if o.NoiseSD > 0 {
			base = knownNormal{o.NoiseSD * o.NoiseSD}
		}
	case study.Logistic:
		base = logit{}
	case study.Probit:
		base = probit{}
	case study.Poisson:
		base = poisson{}
	case study.NegativeBinomial:
		base = negativeBinomial{}
	case study.Robust:
		base = newStudent(o.DegreesOfFreedom)
	case study.Softmax:
		base = softmax{o.Classes}
	default:
		panic(fmt.Sprintf("solver: %q is no regression", o.Family))
	}
	if o.Effects > 0 {
		return newVarying(base, o.Effects)
	}
	return base
}

// A Regression is a likelihood whose records see θ through a few linear predictors
// each. Expectations are cubatures over the predictors, one- or two-dimensional for
// most models: deterministic, and exact but for the rule.
type Regression struct {
	dim      int
	response response
	rule     *cubature
	y        []float64
	loads    loadings
}

// loadings are the sparse rows of a design: those of predictor k of record i are
// entries start[i·K+k] to start[i·K+k+1], coordinates in increasing order.
type loadings struct {
	start []int32
	index []int32
	value []float64
}

func (l *loadings) add(index int, value float64) {
	if value != 0 {
		l.index, l.value = append(l.index, int32(index)), append(l.value, value)
	}
}

// end ends a row.
func (l *loadings) end() { l.start = append(l.start, int32(len(l.index))) }

// row returns row n.
func (l *loadings) row(n int) (index []int32, value []float64) { return l.rows(n, 1) }

// rows returns k rows from row n on, one after the other.
func (l *loadings) rows(n, k int) (index []int32, value []float64) {
	from, to := l.start[n], l.start[n+k]
	return l.index[from:to], l.value[from:to]
}

// NewRegression returns a regression without records over R^dim. It panics for a
// family that is none.
func NewRegression(dim int, o Outcome) *Regression {
	r := o.response()
	return &Regression{dim: dim, response: r, rule: newCubature(r.size()), loads: loadings{start: []int32{0}}}
}

// Load adds a coordinate of θ, times value, to the predictor that is being written.
// Coordinates come in increasing order.
func (r *Regression) Load(coordinate int, value float64) { r.loads.add(coordinate, value) }

// EndPredictor ends the predictor that is being written.
func (r *Regression) EndPredictor() { r.loads.end() }

// EndRecord ends a record, all of whose predictors were written, with outcome y.
func (r *Regression) EndRecord(y float64) { r.y = append(r.y, y) }

// Dim implements [Likelihood].
func (r *Regression) Dim() int { return r.dim }

// AddGradient implements [Likelihood].
func (r *Regression) AddGradient(dst, theta []float64) float64 {
	k := r.response.size()
	eta, g, h := make([]float64, k), make([]float64, k), make([]float64, k*k)
	var sum float64
	for i, y := range r.y {
		r.predict(eta, i, theta)
		sum += r.response.eval(y, eta, g, h)
		for a, slope := range g {
			index, value := r.loads.row(i*k + a)
			for n, j := range index {
				dst[j] += slope * value[n]
			}
		}
	}
	return sum
}

// predict writes the predictors of record i to eta.
func (r *Regression) predict(eta []float64, i int, theta []float64) {
	for a := range eta {
		index, value := r.loads.row(i*len(eta) + a)
		var sum float64
		for n, j := range index {
			sum += value[n] * theta[j]
		}
		eta[a] = sum
	}
}

// Tolerance implements [Likelihood]: rules of many points are as good as exact, those
// of few only about so.
func (r *Regression) Tolerance() float64 {
	switch r.response.size() {
	case 1:
		return sharp
	case 2:
		return middling
	}
	return coarse
}

// Reach implements [Likelihood].
func (r *Regression) Reach(move []float64) float64 {
	eta := make([]float64, r.response.size())
	var most float64
	for i := range r.y {
		r.predict(eta, i, move)
		for _, x := range eta {
			most = math.Max(most, math.Abs(x)) // NaN stays
		}
	}
	return most
}

// workspace is what the expectation of one record needs.
type workspace struct {
	mean, root []float64 // of the predictors, root by rows
	eta, g, h  []float64
	sumG, sumH []float64
}

func newWorkspace(k int) *workspace {
	return &workspace{
		mean: make([]float64, k), root: make([]float64, k*k), eta: make([]float64, k),
		g: make([]float64, k), h: make([]float64, k*k), sumG: make([]float64, k), sumH: make([]float64, k*k),
	}
}

// place writes to eta the predictors at point n of a rule.
func (w *workspace) place(rule *cubature, n int) {
	k := len(w.mean)
	z := rule.points[n*k : (n+1)*k]
	for a := range k {
		eta := w.mean[a]
		for b, x := range z[:a+1] {
			eta += w.root[a*k+b] * x
		}
		w.eta[a] = eta
	}
}

// AddExpected implements [Likelihood].
func (r *Regression) AddExpected(e *Expected, q *Approximation) {
	k := r.response.size()
	w := newWorkspace(k)
	rule := r.rule
	if q.Point {
		rule = point(k)
	}
	diagonal := q.Family.Name() == "diagonal"
	for i, y := range r.y {
		r.predict(w.mean, i, q.Mean)
		if !q.Point {
			r.spread(w.root, i, q)
		}
		e.Value += r.average(w, rule, y)
		r.gather(e, i, w, diagonal)
	}
}

// average integrates the response of one record over its predictors.
func (r *Regression) average(w *workspace, rule *cubature, y float64) (value float64) {
	clear(w.sumG)
	clear(w.sumH)
	for n, weight := range rule.weights {
		w.place(rule, n)
		value += weight * r.response.eval(y, w.eta, w.g, w.h)
		for a, x := range w.g {
			w.sumG[a] += weight * x
		}
		for a, x := range w.h {
			w.sumH[a] += weight * x
		}
	}
	return value
}

// spread writes the lower Cholesky root of the covariance of record i's predictors.
// What rounding leaves below zero counts as zero.
func (r *Regression) spread(root []float64, i int, q *Approximation) {
	k := r.response.size()
	for a := range k {
		for b := range a + 1 {
			sum := r.covariance(i*k+a, i*k+b, q)
			for c := range b {
				sum -= root[a*k+c] * root[b*k+c]
			}
			switch {
			case a == b:
				root[a*k+a] = math.Sqrt(max(sum, 0))
			case root[b*k+b] > 0:
				root[a*k+b] = sum / root[b*k+b]
			default:
				root[a*k+b] = 0
			}
		}
	}
}

// covariance returns the covariance of two rows of the design under q.
func (r *Regression) covariance(a, b int, q *Approximation) (sum float64) {
	indexA, valueA := r.loads.row(a)
	indexB, valueB := r.loads.row(b)
	if q.Covariance == nil {
		m := 0
		for n, j := range indexA {
			for m < len(indexB) && indexB[m] < j {
				m++
			}
			if m < len(indexB) && indexB[m] == j {
				sum += valueA[n] * valueB[m] * q.Variance[j]
			}
		}
		return sum
	}
	for n, i := range indexA {
		row := q.Covariance[int(i)*r.dim:]
		var inner float64
		for m, j := range indexB {
			inner += valueB[m] * row[j]
		}
		sum += valueA[n] * inner
	}
	return sum
}

// gather adds the derivatives of record i in θ to e.
func (r *Regression) gather(e *Expected, i int, w *workspace, diagonal bool) {
	k := len(w.mean)
	for a := range k {
		indexA, valueA := r.loads.row(i*k + a)
		for n, at := range indexA {
			e.Gradient[at] += w.sumG[a] * valueA[n]
		}
		for b := range k {
			indexB, valueB := r.loads.row(i*k + b)
			bend := w.sumH[a*k+b]
			for n, row := range indexA {
				scaled := bend * valueA[n]
				triangle := int(row) * (int(row) + 1) / 2
				for m, column := range indexB {
					if column > row {
						break
					}
					if !diagonal {
						e.Hessian[triangle+int(column)] += scaled * valueB[m]
					} else if column == row {
						e.Hessian[row] += scaled * valueB[m]
					}
				}
			}
		}
	}
}
