package scoring

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/solver"
)

// madeUpRecords is the number of made-up records.
const madeUpRecords = 2000

// A madeUp is a set of made-up records. Their regressors follow the margins, with independent
// columns, and are made from the same random numbers each time.
type madeUp struct {
	*Problem
	x       []float64     // regressors of the records, one record after another
	outcome []float64     // two standard normal numbers for the outcome of each record
	predict [][]float64   // by predictor, a standard normal number for each record
	columns int           // number of regressors of a record
	prior   mat.Symmetric // precision of the prior divided by the number of real records
	frailty float64       // variance of the factor by which the mean of a count is multiplied; 0 for models of other outcomes
}

// with returns made-up records whose counts have the given frailty.
func (m *madeUp) with(frailty float64) *madeUp {
	out := *m
	out.frailty = frailty
	return &out
}

// outcomeOf returns the outcome of record i at the predictors eta.
func (m *madeUp) outcomeOf(i int, eta []float64) float64 {
	z := [2]float64{m.outcome[2*i], m.outcome[2*i+1]}
	y := m.response.Outcome(eta, z)
	if m.frailty > 0 {
		y = solver.Overdispersed(eta[0], m.frailty, z)
	}
	return min(max(y, m.low), m.high)
}

func (p *Problem) newMadeUp(x []float64) *madeUp {
	m := &madeUp{Problem: p, x: x, columns: len(p.columns), outcome: p.normals(2*madeUpRecords, "outcomes", 0)}
	for a := range p.predictors() {
		m.predict = append(m.predict, p.normals(madeUpRecords, "predictors", a))
	}
	m.prior = diagonal(p.Dim(), func(i int) float64 { return p.precision(i) / p.Records })
	return m
}

func (m *madeUp) row(i int) []float64 { return m.x[i*m.columns : (i+1)*m.columns] }

// curvature returns the mean information of a made-up record at θ.
func (m *madeUp) curvature(theta []float64) *mat.SymDense {
	d, k, w := m.Dim(), m.predictors(), m.workspace()
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

// A sample is the scores of made-up records at a point, in units of their own curvature.
type sample struct {
	units  *mat.TriDense
	scores *mat.Dense // a row for each record
	norms  []float64
	curved *mat.SymDense // mean curvature of a made-up record
}

// at returns the scores of made-up records at θ. The outcome of each record is drawn at θ, or, if
// cov is not nil, at a point of its own from N(θ, cov). The scores are in units of the mean
// curvature of the records plus ridge times the precision of the prior divided by the number of
// real records.
func (m *madeUp) at(theta []float64, ridge float64, cov *mat.SymDense) *sample {
	s := &sample{curved: m.curvature(theta), scores: mat.NewDense(madeUpRecords, m.Dim(), nil), norms: make([]float64, madeUpRecords)}
	s.units = cholesky(plus(term{1, s.curved}, term{ridge, m.prior}))
	w, k, white := m.workspace(), m.predictors(), newWhitening(s.units)
	spread, root, weights := make([]float64, k*k), make([]float64, k*k), make([]float64, k)
	for i := range madeUpRecords {
		x := m.row(i)
		w.predict(x, theta)
		drawn := slices.Clone(w.eta)
		if cov != nil {
			w.predictorCovariance(spread, x, cov, weights)
			rootOf(root, spread, k)
			for a := range k {
				for b := range a + 1 {
					drawn[a] += root[a*k+b] * m.predict[b][i]
				}
			}
		}
		y := m.outcomeOf(i, drawn)
		row := s.scores.RawRowView(i)
		w.score(row, x, y)
		white.apply(row, w.vector)
		s.norms[i] = norm(row)
	}
	return s
}

// predictorCovariance writes the covariance of the predictors of a record under θ ~ N(·, cov).
func (s *workspace) predictorCovariance(dst, x []float64, cov *mat.SymDense, weights []float64) {
	k, d := len(weights), s.Dim()
	v := make([]float64, d)
	for a := range k {
		clear(weights)
		clear(v)
		weights[a] = 1
		s.spread(v, x, weights)
		moved := apply(cov, v)
		for b := range a + 1 {
			clear(weights)
			weights[b] = 1
			s.spread(v, x, weights)
			dst[a*k+b] = dot(v, moved)
			dst[b*k+a] = dst[a*k+b]
		}
	}
}

// lost returns, in units, the sum over all real records of the parts of their scores that a clip
// removes. It assumes that real records are like made-up records.
func (s *sample) lost(clip, records float64) []float64 {
	_, d := s.scores.Dims()
	sum := make([]float64, d)
	for i, n := range s.norms {
		if n > clip {
			for j, v := range s.scores.RawRowView(i) {
				sum[j] += (1 - clip/n) * v * records / madeUpRecords
			}
		}
	}
	return sum
}

// beyond returns the share of the sorted numbers that are above x.
func beyond(sorted []float64, x float64) float64 {
	n, _ := slices.BinarySearch(sorted, math.Nextafter(x, math.Inf(1)))
	return float64(len(sorted)-n) / float64(len(sorted))
}

// quantile returns quantile q of sorted numbers, with linear interpolation.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-2)
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// informationNorms returns the sorted Frobenius norms of the information of made-up records at θ,
// in units.
func (m *madeUp) informationNorms(theta []float64, units *mat.TriDense) []float64 {
	norms := make([]float64, madeUpRecords)
	c, w, white := m.newCurved(), m.workspace(), newWhitening(units)
	for i := range norms {
		w.predict(m.row(i), theta)
		norms[i] = c.norm(w, m.row(i), white)
	}
	slices.Sort(norms)
	return norms
}

// A curved has the information of one record in units, as a matrix A with A Aᵀ = F.
type curved struct{ factors *mat.Dense } // Aᵀ, by rows

func (p *Problem) newCurved() *curved { return &curved{mat.NewDense(p.predictors(), p.Dim(), nil)} }

// norm computes A for a record whose predictors are in w and returns ‖A Aᵀ‖, the Frobenius norm.
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
