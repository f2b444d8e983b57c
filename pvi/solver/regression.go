package solver

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"fedpvi/internal/quadrature"
)

// A Regression is a likelihood in which each record depends on θ through a few linear predictors,
// mostly one or two. Expectations are computed by quadrature over the predictors.
type Regression struct {
	outcome  Outcome
	dim      int
	response Response
	rule     *quadrature.Rule
	rough    *quadrature.Rule // rule of few points
	y        []float64
	design   Design

	// short has a fourth of the points of rule. brief states for which records both rules give the
	// same expectations, so that AddExpected uses short. Both are nil unless [Regression.Compare]
	// was called.
	short *quadrature.Rule
	brief []agreement
}

// An agreement states whether two quadrature rules gave the same expectations for one record.
type agreement byte

const (
	notCompared agreement = iota
	agree
	differ
)

// Compare makes the next call of AddExpected compare a short rule with the usual one. Later calls
// use the short rule for records for which both agree up to rounding. The caller must ensure that q
// hardly changes afterwards. [Regression.Restore] undoes Compare.
func (r *Regression) Compare() {
	if r.short = quadrature.Short(r.response.Size()); r.short != nil {
		r.brief = make([]agreement, len(r.y))
	}
}

// Restore makes AddExpected use the usual rule for all records.
func (r *Regression) Restore() { r.short, r.brief = nil, nil }

// NewRegression returns a regression over R^dim without records. It panics if the family of o is
// not a regression.
func NewRegression(dim int, o Outcome) *Regression {
	r := o.Response()
	return &Regression{dim: dim, response: r, rule: quadrature.New(r.Size()), rough: quadrature.Rough(r.Size()), outcome: o, design: Design{start: []int32{0}}}
}

// Load adds the term value·θ[coordinate] to the current predictor. Terms must be loaded in
// increasing order of their coordinates.
func (r *Regression) Load(coordinate int, value float64) { r.design.add(coordinate, value) }

// EndPredictor ends the current predictor.
func (r *Regression) EndPredictor() { r.design.end() }

// EndRecord ends a record with the outcome y. All of its predictors must have ended.
func (r *Regression) EndRecord(y float64) { r.y = append(r.y, y) }

// Outcome returns the distribution of the outcomes given the predictors.
func (r *Regression) Outcome() Outcome { return r.outcome }

// Outcomes returns the records' outcomes. The slice is not a copy.
func (r *Regression) Outcomes() []float64 { return r.y }

// Design returns the design matrix, with K rows for each record, one for each of its predictors.
func (r *Regression) Design() *Design { return &r.design }

// Dim implements [Likelihood].
func (r *Regression) Dim() int { return r.dim }

// AddGradient implements [Likelihood].
func (r *Regression) AddGradient(dst, theta []float64) float64 {
	k := r.response.Size()
	eta, g, h := make([]float64, k), make([]float64, k), make([]float64, k*k)
	var sum float64
	for i, y := range r.y {
		r.Predictors(eta, i, theta)
		sum += r.response.Eval(y, eta, g, h)
		for a, slope := range g {
			index, value := r.design.Row(i*k + a)
			for n, j := range index {
				dst[j] += slope * value[n]
			}
		}
	}
	return sum
}

// Predictors writes the K predictors of record i at theta to eta, which has length K.
func (r *Regression) Predictors(eta []float64, i int, theta []float64) {
	for a := range eta {
		index, value := r.design.Row(i*len(eta) + a)
		var sum float64
		for n, j := range index {
			sum += value[n] * theta[j]
		}
		eta[a] = sum
	}
}

// Tolerance implements [Likelihood]. A rule for more predictors has fewer points along each
// dimension.
func (r *Regression) Tolerance() float64 {
	switch r.response.Size() {
	case 1:
		return sharp
	case 2:
		return middling
	}
	return coarse
}

// Reach implements [Likelihood].
func (r *Regression) Reach(move []float64) float64 {
	eta := make([]float64, r.response.Size())
	var most float64
	for i := range r.y {
		r.Predictors(eta, i, move)
		for _, x := range eta {
			most = math.Max(most, math.Abs(x)) // math.Max returns NaN if x is NaN
		}
	}
	return most
}

// A workspace is scratch memory for the expectations of one record.
type workspace struct {
	mean, root []float64 // mean of the predictors, and the Cholesky root of their covariance by rows
	eta, g, h  []float64
	sumG, sumH []float64
}

func newWorkspace(k int) *workspace {
	return &workspace{
		mean: make([]float64, k), root: make([]float64, k*k), eta: make([]float64, k),
		g: make([]float64, k), h: make([]float64, k*k), sumG: make([]float64, k), sumH: make([]float64, k*k),
	}
}

// place sets w.eta to the predictors m + Lz for point z of the rule with number n, where w holds m
// and L.
func (w *workspace) place(rule *quadrature.Rule, n int) {
	k := len(w.mean)
	z := rule.Points[n*k : (n+1)*k]
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
	k := r.response.Size()
	w := newWorkspace(k)
	rule := r.rule
	switch {
	case q.Point:
		rule = quadrature.Point(k)
	case q.Rough:
		rule = r.rough
	}
	diagonal := q.Family.Name() == "diagonal"
	for i, y := range r.y {
		r.Predictors(w.mean, i, q.Mean)
		if !q.Point {
			r.Spread(w.root, i, q)
		}
		e.Value += r.average(w, r.choose(rule, i, w), y)
		r.gather(e, i, w, diagonal)
	}
}

// choose returns the quadrature rule for record i: r.short if it gives the same expectations (see
// [Regression.Compare]), and otherwise rule. w holds the distribution of the record's predictors.
func (r *Regression) choose(rule *quadrature.Rule, i int, w *workspace) *quadrature.Rule {
	if r.brief == nil || rule != r.rule {
		return rule
	}
	if r.brief[i] == notCompared {
		r.brief[i] = differ
		if r.same(w, r.y[i]) {
			r.brief[i] = agree
		}
	}
	if r.brief[i] == agree {
		return r.short
	}
	return rule
}

// same reports whether r.short and r.rule give the same expectations for a record with the outcome
// y, up to rounding.
func (r *Regression) same(w *workspace, y float64) bool {
	var all [2][]float64
	for i, rule := range []*quadrature.Rule{r.short, r.rule} {
		value := r.average(w, rule, y)
		all[i] = slices.Concat([]float64{value}, w.sumG, w.sumH)
	}
	k := len(w.mean)
	for _, part := range [][2]int{{0, 1}, {1, 1 + k}, {1 + k, 1 + k + k*k}} {
		a, b := all[0][part[0]:part[1]], all[1][part[0]:part[1]]
		if !(floats.Distance(a, b, math.Inf(1)) <= rounding*floats.Norm(b, math.Inf(1))) {
			return false
		}
	}
	return true
}

// average returns the expected log likelihood of one record. It sets w.sumG and w.sumH to the
// expected gradient and Hessian with respect to the predictors.
func (r *Regression) average(w *workspace, rule *quadrature.Rule, y float64) (value float64) {
	clear(w.sumG)
	clear(w.sumH)
	if len(w.mean) == 1 { // no loops over predictors
		for n, weight := range rule.Weights {
			w.eta[0] = w.mean[0] + w.root[0]*rule.Points[n]
			value += weight * r.response.Eval(y, w.eta, w.g, w.h)
			w.sumG[0] += weight * w.g[0]
			w.sumH[0] += weight * w.h[0]
		}
		return value
	}
	for n, weight := range rule.Weights {
		w.place(rule, n)
		value += weight * r.response.Eval(y, w.eta, w.g, w.h)
		for a, x := range w.g {
			w.sumG[a] += weight * x
		}
		for a, x := range w.h {
			w.sumH[a] += weight * x
		}
	}
	return value
}

// Spread writes the lower Cholesky root of the covariance of record i's predictors under q to root,
// by rows. A pivot that rounding made negative becomes zero.
func (r *Regression) Spread(root []float64, i int, q *Approximation) {
	k := r.response.Size()
	for a := range k {
		for b := range a + 1 {
			sum := r.Covariance(i*k+a, i*k+b, q)
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

// Covariance returns the covariance under q of the predictors in rows a and b of the design.
func (r *Regression) Covariance(a, b int, q *Approximation) (sum float64) {
	indexA, valueA := r.design.Row(a)
	indexB, valueB := r.design.Row(b)
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

// gather adds the expected derivatives of record i's log likelihood with respect to θ to e, by the
// chain rule from w.sumG and w.sumH. If diagonal is true, e.Hessian holds only the diagonal.
func (r *Regression) gather(e *Expected, i int, w *workspace, diagonal bool) {
	k := len(w.mean)
	for a := range k {
		indexA, valueA := r.design.Row(i*k + a)
		for n, at := range indexA {
			e.Gradient[at] += w.sumG[a] * valueA[n]
		}
		for b := range k {
			indexB, valueB := r.design.Row(i*k + b)
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
