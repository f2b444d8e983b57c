package sim

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// drawOutcome draws the outcome of record i at θ. The outcome is in the unit of its column and
// within the column's bounds.
func drawOutcome(m *fit.Model, column *study.Column, design *shard.Shard, i int, theta []float64, r *rand.Rand) float64 {
	eta := make([]float64, m.Locations())
	m.Location(eta, design, i, theta)
	scale := m.Scale(theta)
	family := m.Study.Model.Family
	switch m.Study.Model.Kind() {
	case study.Binary:
		p := 1 / (1 + math.Exp(-eta[0]))
		if family == study.Probit {
			p = math.Erfc(-eta[0]/math.Sqrt2) / 2
		}
		return binaryValue(m.Study.Model.Positive, column, r.Float64() < p)
	case study.Count:
		mean := math.Exp(eta[0])
		if family == study.NegativeBinomial {
			mean *= distuv.Gamma{Alpha: scale, Beta: scale, Src: r}.Rand()
		}
		return min(max(drawPoisson(mean, column.High, r), column.Low), column.High)
	case study.Class:
		return float64(drawClass(eta, r))
	}
	noise := r.NormFloat64()
	if family == study.Robust {
		nu := m.Study.Model.DegreesOfFreedom
		noise /= math.Sqrt(distuv.ChiSquared{K: nu, Src: r}.Rand() / nu)
	}
	y := m.Study.Unscale(column, eta[0]+scale*noise)
	return min(max(y, column.Low), column.High)
}

// binaryValue returns a value of the column that is positive, or one that is not.
func binaryValue(e *study.Event, column *study.Column, positive bool) float64 {
	if e.Of(column.Low) == positive {
		return column.Low
	}
	if e.Of(column.High) == positive {
		return column.High
	}
	return float64(e.Level) // the positive value is a level between the bounds
}

// drawPoisson draws a count from a Poisson distribution. The count is at most the given bound.
func drawPoisson(mean, most float64, r *rand.Rand) float64 {
	if !(mean < 1e9) {
		return most
	}
	if mean == 0 {
		return 0
	}
	return distuv.Poisson{Lambda: mean, Src: r}.Rand()
}

// drawClass draws a class. The argument eta holds the log odds of every class except the first,
// relative to the first.
func drawClass(eta []float64, r *rand.Rand) int {
	largest := 0.0
	for _, e := range eta {
		largest = max(largest, e)
	}
	total := math.Exp(-largest)
	for _, e := range eta {
		total += math.Exp(e - largest)
	}
	u := r.Float64()*total - math.Exp(-largest)
	for k, e := range eta {
		if u < 0 {
			return k
		}
		u -= math.Exp(e - largest)
	}
	return len(eta)
}
