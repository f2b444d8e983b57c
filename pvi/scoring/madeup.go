package scoring

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

const madeUpRecords = 2000

// A sample holds the scores of made-up records at one point, in units that sampleAt defines.
type sample struct {
	units   *mat.TriDense
	scores  *mat.Dense // has a row for each record
	norms   []float64
	curved  *mat.SymDense // mean curvature of the made-up records
	undrawn []bool        // see [population]
	weights []float64     // see [population]
	unknown float64       // see [population]
}

// sampleAt returns the scores of made-up records at θ. Outcomes are drawn as [population] describes
// for cov. The units are defined by the mean curvature of the made-up records plus ridge·P/N, where
// P is the prior precision and N the number of real records.
func (p *Problem) sampleAt(m population, theta []float64, ridge float64, cov *mat.SymDense) *sample {
	s := &sample{
		curved: m.curvature(theta), scores: mat.NewDense(madeUpRecords, p.Dim(), nil), norms: make([]float64, madeUpRecords),
		undrawn: m.undrawn(theta), weights: m.balances(theta), unknown: m.unknown(),
	}
	s.units = cholesky(plus(term{1, s.curved}, term{ridge, p.perRecord()}))
	white, scratch := newWhitening(s.units), make([]float64, p.Dim())
	m.scores(theta, cov, func(i int, score []float64) {
		row := s.scores.RawRowView(i)
		copy(row, score)
		white.apply(row, scratch)
		s.norms[i] = norm(row)
	})
	return s
}

// perRecord returns the prior precision divided by the number of real records.
func (p *Problem) perRecord() mat.Symmetric {
	return diagonal(p.Dim(), func(i int) float64 { return p.precision(i) / p.Records })
}

func (s *sample) weight(i int) float64 {
	if s.weights == nil {
		return 1
	}
	return s.weights[i]
}

// lost predicts how much clipping removes from the sum of the scores of real records. records is
// their number.
func (s *sample) lost(clip, records float64) []float64 {
	_, d := s.scores.Dims()
	sum := make([]float64, d)
	for i, n := range s.norms {
		if n > clip {
			for j, v := range s.scores.RawRowView(i) {
				sum[j] += (1 - clip/n) * v * s.weight(i) * records / madeUpRecords
			}
		}
	}
	return sum
}

// loose adds up the lengths of the removed parts over records with an outcome that was not drawn.
// The model does not determine the directions of these parts.
func (s *sample) loose(clip, records float64) (sum float64) {
	for i, u := range s.undrawn {
		if u {
			sum += max(s.norms[i]-clip, 0) * s.weight(i) * records / madeUpRecords
		}
	}
	return sum
}

// uncertainty states how wrong the predicted effect of the clip on the sum o may be, as the
// covariance of an error. The predicted effect is x, the sum of the parts that the clip removes
// from the scores of made-up records ([sample.lost]). For real records, this sum differs from x by
// about √k·x, where k is the share of [population] that is unknown. The covariance is therefore
//
//	kxxᵀ + (k|L⁻¹x|² + u²)/d · LLᵀ,
//
// where L defines the units of scores ([State.ridged]), d is the number of coordinates, and u is
// [sample.loose].
func (s *sample) uncertainty(o *observation, records float64) *mat.SymDense {
	lost, loose := s.lost(o.clip, records), s.loose(o.clip, records)
	all := (s.unknown*dot(lost, lost) + loose*loose) / float64(len(lost))
	return plus(term{s.unknown, outer(apply(o.units, lost))}, term{all, congruent(o.units, nil)})
}

// beyond returns the share of the sorted numbers that exceeds x.
func beyond(sorted []float64, x float64) float64 {
	n, _ := slices.BinarySearch(sorted, math.Nextafter(x, math.Inf(1)))
	return float64(len(sorted)-n) / float64(len(sorted))
}

// quantile returns a quantile of sorted numbers, interpolating linearly between them.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-2)
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// curvatureNorms returns the sorted Frobenius norms of the curvatures of made-up records at θ, in
// the given units.
func curvatureNorms(m population, theta []float64, units *mat.TriDense) []float64 {
	white, records := newWhitening(units), m.drawn(theta, 0)
	norms, at := make([]float64, records.Len()), records.at(theta)
	for i := range norms {
		at.record(i)
		norms[i] = at.curvature(white)
	}
	slices.Sort(norms)
	return norms
}
