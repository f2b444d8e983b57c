package report

import (
	"math"
	"testing"

	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// The test fits a regression line whose x is uniform in [−1, 1]. The mean information of a record
// is diag(1, 1/3)/σ², where σ = 0.5 is the sd of the outcome. So the posterior precision B is a
// known diagonal matrix, and if the noise has sd τ, the covariance of the estimate is B⁻¹ + τ²B⁻².
func TestErrorsByNoise(t *testing.T) {
	const records, clients, sigma = 50, 4, .5
	source := linestudy.Document(linestudy.Parts{
		Privacy: "unit = \"record\"\nepsilon = 0.5\ndelta = 1e-5", Inference: "rounds = 3", Federation: "nominal_records = 50",
	})
	st, err := study.Parse("plane.toml", source)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sim.Protocol(st, clients)
	if err != nil {
		t.Fatal(err)
	}
	noise := p.Method().Forecast().Noise
	for _, extent := range []float64{1, narrow} {
		shares, err := sharesByNoise(p, extent)
		if err != nil {
			t.Fatal(err)
		}
		for i, square := range []float64{1, extent * extent / 3} {
			sd := p.Model().Parameters.Prior(i).SD
			b := records*clients*square/(sigma*sigma) + 1/(sd*sd)
			if want := math.Sqrt(1/b+noise*noise/(b*b)) / sd; math.Abs(shares[i]/want-1) > .05 {
				t.Errorf("with the extent %g share %d is %g, want %g", extent, i, shares[i], want)
			}
		}
	}
}
