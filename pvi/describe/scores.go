package describe

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Scored summarises how well the fit predicts held-out records, by their log predictive
// densities, clipped to the range [Low, High]. Intervals are about the held-out records of the
// clients that answered, so they cover the noise alone. Standard errors are about other records.
// They add the sampling error of independent records.
type Scored struct {
	Level   float64 `json:"level"`    // level of the intervals
	Clients int     `json:"clients"`  // clients whose held-out records were scored
	NoiseSD float64 `json:"noise_sd"` // sd of the noise in Records
	HeldOut float64 `json:"held_out"` // probability that a record was held out

	Low  float64 `json:"clip_low"`
	High float64 `json:"clip_high"`

	// Outcome describes the outcome and the scale of its density. It is empty for a program or a
	// formula.
	Outcome string `json:"outcome,omitempty"`

	Records Value   `json:"records"` // number of held-out records
	ELPD    Value   `json:"elpd"`    // sum of the clipped log predictive densities
	ELPDSE  float64 `json:"elpd_se"` // standard error of the sum
	Mean    Value   `json:"mean"`    // ELPD divided by the number of records
	MeanSE  float64 `json:"mean_se"` // 0 if Mean has no estimate
	Below   Value   `json:"below"`   // share of records whose density was raised to Low
	Above   Value   `json:"above"`   // share of records whose density was lowered to High
}

// Scores defines the vector of a held-out record. Let v be its log predictive density, clipped to a
// range that is scaled to [−1, 1]. The elements are
//
//	√a          for the number of records
//	√b·v        for the sum of the densities
//	√c·(2v²−1)  for their variance
//	√d          in one of two elements if the density lies below the range or above it
//
// with a + b + c + d = 1. The squared norm a + bv² + c(2v²−1)² + d is convex in v², and at most 1
// for v² of 0 and of 1. So the norm is at most 1.
type Scores struct {
	middle, half float64
}

// Indices of the elements of a vector.
const (
	elementCount = iota
	elementSum
	elementSquares
	elementBelow
	elementAbove
	elements
)

// weights are a, b, c and d (see [Scores]). They keep the error of the mean log density small even
// near an end of the range, where the number of records adds most to it.
var weights = [elements]float64{elementCount: 0.3, elementSum: 0.5, elementSquares: 0.1, elementBelow: 0.1, elementAbove: 0.1}

// NewScores returns the Scores for log densities clipped to [low, high].
func NewScores(low, high float64) *Scores { return &Scores{low + (high-low)/2, (high - low) / 2} }

// Size returns the number of elements of a vector.
func (s *Scores) Size() int { return elements }

// Norm returns an upper bound on the L2 norm of a vector.
func (s *Scores) Norm() float64 { return 1 }

// Vector writes the vector of a record to dst. log is its log predictive density, which must not be
// NaN.
func (s *Scores) Vector(dst []float64, log float64) {
	at := (log - s.middle) / s.half
	v := min(max(at, -1), 1)
	numbers := [elements]float64{elementCount: 1, elementSum: v, elementSquares: 2*v*v - 1}
	switch {
	case at < -1:
		numbers[elementBelow] = 1
	case at > 1:
		numbers[elementAbove] = 1
	}
	for i, x := range numbers {
		dst[i] = math.Sqrt(weights[i]) * x
	}
}

// CountSD returns the sd of the estimated number of records, and MeanSD that of the mean of n log
// densities near the middle of the range. sd is the sd of the noise in an element of the sum.
func (s *Scores) CountSD(sd float64) float64 { return sd / math.Sqrt(weights[elementCount]) }

// MeanSD is described with [Scores.CountSD].
func (s *Scores) MeanSD(sd, n float64) float64 {
	return s.half * sd / math.Sqrt(weights[elementSum]) / n
}

// Estimate returns estimates from the sum of all held-out records' vectors, with noise of the given
// sd in each element. Intervals hold with probability level, which is below 1, if the noise is
// normal.
//
// The elpd is the sum of the clipped log predictive densities: cn + hV, where c is the middle of
// the range, h half its width, n the number of records and V the sum of the scaled densities. The
// noise of n and V is independent. The sampling variance of the elpd is n times the variance of a
// density. If noise leaves no estimate of this variance, the upper end of its interval is used.
func (s *Scores) Estimate(sum []float64, sd float64, clients int, level float64) *Scored {
	e := estimator{z: distuv.UnitNormal.Quantile((1 + level) / 2)}
	var of, variance [elements]float64
	for i, w := range weights {
		of[i], variance[i] = sum[i]/math.Sqrt(w), sd*sd/w
	}
	n, nVar, v, vVar := of[elementCount], variance[elementCount], of[elementSum], variance[elementSum]
	share := func(i int) Value { return e.ratio(of[i], variance[i], n, nVar, 0, 0) }
	elpd, noise := s.middle*n+s.half*v, s.middle*s.middle*nVar+s.half*s.half*vVar
	within := e.z * math.Sqrt(noise)
	out := &Scored{
		Level: level, Clients: clients, NoiseSD: math.Sqrt(nVar), Low: s.middle - s.half, High: s.middle + s.half,
		Records: e.count(n, nVar), Below: share(elementBelow), Above: share(elementAbove),
		ELPD: Value{Estimate: elpd, Low: elpd - within, High: elpd + within},
		Mean: e.ratio(v, vVar, n, nVar, 0, -1),
	}
	spread := e.spread([2]float64{v, of[elementSquares]}, n, nVar, vVar, variance[elementSquares])
	deviation := s.half * spread.Estimate
	if spread.IntervalOnly {
		deviation = s.half * spread.High
	}
	out.ELPDSE = math.Sqrt(noise + max(n, 0)*deviation*deviation)
	if !out.Mean.IntervalOnly {
		m := out.Mean.Estimate
		if out.Mean.Low == -1 && out.Mean.High == 1 {
			m = 1 // the noise hides the mean; the error is largest at an end of the range
		}
		out.MeanSE = math.Sqrt(s.half*s.half*(vVar+m*m*nVar)/(n*n) + deviation*deviation/n)
	}
	for _, x := range []*float64{&out.Mean.Estimate, &out.Mean.Low, &out.Mean.High} {
		*x = s.middle + s.half**x
	}
	return out
}
