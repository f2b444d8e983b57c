package describe

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Scored summarises how well the fit predicts records that were held out from it. It contains
// estimates about their log predictive densities, each clipped to the range [Low, High]. Intervals
// are statements about the held-out records of the clients that answered. For these records only
// the noise is unknown, so intervals cover the noise alone. Standard errors are for statements
// about other records. They add the sampling error, and assume that records are independent.
type Scored struct {
	Level   float64 `json:"level"`    // probability with which an interval holds
	Clients int     `json:"clients"`  // number of clients whose held-out records were scored
	NoiseSD float64 `json:"noise_sd"` // sd of the noise in Records
	HeldOut float64 `json:"held_out"` // probability with which a record was held out

	Low  float64 `json:"clip_low"`
	High float64 `json:"clip_high"`

	// Outcome describes the outcome whose log density was computed, and the scale of this density.
	// It is empty if the model is a program or a formula.
	Outcome string `json:"outcome,omitempty"`

	Records Value   `json:"records"` // number of held-out records
	ELPD    Value   `json:"elpd"`    // sum of the clipped log predictive densities
	ELPDSE  float64 `json:"elpd_se"` // standard error of the sum
	Mean    Value   `json:"mean"`    // the sum divided by the number of records
	MeanSE  float64 `json:"mean_se"` // standard error of the mean; 0 if Mean has no estimate
	Below   Value   `json:"below"`   // share of the records whose log density was raised to Low
	Above   Value   `json:"above"`   // share of the records whose log density was lowered to High
}

// Scores defines the vector that a held-out record adds to a sum. Let v be the record's log
// predictive density, clipped to a range and scaled so that the range is [−1, 1]. The elements are
//
//	√a          for the number of records
//	√b·v        for the sum of the densities
//	√c·(2v²−1)  for their variance
//	√d          in one of two elements if the density lies below the range or above it
//
// with a + b + c + d = 1. The squared norm a + bv² + c(2v²−1)² + d is convex in v², and is at most 1 for
// v² of 0 and of 1. The norm is therefore at most 1.
type Scores struct {
	middle, half float64
}

// These are the indices of the elements of a vector.
const (
	elementCount = iota
	elementSum
	elementSquares
	elementBelow
	elementAbove
	elements
)

// weights are the squared weights a, b, c and d of the elements (see [Scores]). They make the error
// of the mean log density small, even near an end of the range. There the error of the number of
// records adds most to it.
var weights = [elements]float64{elementCount: 0.3, elementSum: 0.5, elementSquares: 0.1, elementBelow: 0.1, elementAbove: 0.1}

// NewScores returns the Scores for log densities that are clipped to the range from low to high.
func NewScores(low, high float64) *Scores { return &Scores{low + (high-low)/2, (high - low) / 2} }

// Size returns the number of elements of a vector.
func (s *Scores) Size() int { return elements }

// Norm returns an upper bound on the L2 norm of a vector.
func (s *Scores) Norm() float64 { return 1 }

// Vector writes the vector of a record with the given log predictive density, which must not be
// NaN, to dst.
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

// CountSD returns the sd of the estimated number of records if the noise of each element of the sum
// has the given sd. MeanSD returns the sd of the estimated mean of n log densities in the same way,
// for a mean in the middle of the range.
func (s *Scores) CountSD(sd float64) float64 { return sd / math.Sqrt(weights[elementCount]) }

// MeanSD is described with [Scores.CountSD].
func (s *Scores) MeanSD(sd, n float64) float64 {
	return s.half * sd / math.Sqrt(weights[elementSum]) / n
}

// Estimate returns estimates for the sum of the vectors of all held-out records. Every element of
// the sum has noise with the given sd. Intervals hold with probability level, which is below 1.
// They hold exactly with this probability if the noise is normal.
//
// The elpd is the sum of the clipped log predictive densities of all held-out records. If c is the
// middle of the range, h half its width, n the number of records and V the sum of the scaled
// densities, the elpd is cn + hV. The noise of n and V is independent. The sampling variance of the
// elpd is n times the variance of a density. If the noise leaves no estimate of this variance, the
// upper end of its interval replaces the estimate.
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
			m = 1 // the noise hides the mean, so it may lie anywhere in the range; the error is largest at an end of the range
		}
		out.MeanSE = math.Sqrt(s.half*s.half*(vVar+m*m*nVar)/(n*n) + deviation*deviation/n)
	}
	for _, x := range []*float64{&out.Mean.Estimate, &out.Mean.Low, &out.Mean.High} {
		*x = s.middle + s.half**x
	}
	return out
}
