package solver_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/pvi/solver"
)

// The result agrees with a sum over a fine grid, although some densities are thousands of times
// narrower than the distribution of the predictor. The second predictor, if there is one, is the
// log of the scale.
func TestLogMean(t *testing.T) {
	for _, c := range []struct {
		name    string
		scaled  bool
		density func(y, eta, scale float64) float64 // log density
		sds, ys []float64
	}{
		{
			"counts", false,
			func(y, eta, _ float64) float64 { return y*eta - math.Exp(eta) - lgamma(y+1) },
			[]float64{1, 3, 8},
			[]float64{0, 1, 40, 2000},
		},
		{
			"binary outcomes", false,
			func(y, eta, _ float64) float64 { return -math.Log1p(math.Exp((1 - 2*y) * eta)) },
			[]float64{.1, 3, 8},
			[]float64{0, 1},
		},
		{
			"known noise", false,
			func(y, eta, _ float64) float64 { return distuv.Normal{Mu: eta, Sigma: .01}.LogProb(y) },
			[]float64{3, 8},
			[]float64{-3, 0, 9},
		},
		{
			"normal outcomes", true,
			func(y, eta, scale float64) float64 { return distuv.Normal{Mu: eta, Sigma: scale}.LogProb(y) },
			[]float64{.1, .5, 8},
			[]float64{0, 2, 8},
		},
		{
			"Student outcomes", true,
			func(y, eta, scale float64) float64 {
				return distuv.StudentsT{Mu: eta, Sigma: scale, Nu: 4}.LogProb(y)
			},
			[]float64{.1, .5, 8},
			[]float64{0, 2, 8},
		},
		{
			"dispersed counts", true,
			func(y, eta, size float64) float64 {
				mu := math.Exp(eta)
				return lgamma(y+size) - lgamma(size) - lgamma(y+1) + y*(eta-math.Log(mu+size)) - size*math.Log1p(mu/size)
			},
			[]float64{.1, 1, 8},
			[]float64{0, 10, 200},
		},
	} {
		for _, sd := range c.sds {
			for _, y := range c.ys {
				got, _ := predicted(c.density, c.scaled, 1.3, sd, y)
				want := onGrid(c.density, c.scaled, 1.3, sd, y)
				if !(math.Abs(got-want) <= 0.002) {
					t.Errorf("%s, predictor 1.3 ± %g, outcome %g: log density %.4f, want %.4f", c.name, sd, y, got, want)
				}
			}
		}
	}
}

func lgamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}

// Moments of the log of the scale in TestLogMean.
const logScale, logScaleSD = -0.5, 0.7

// predicted returns the log density that LogMean computes for an outcome y of a record whose
// predictor of the location is N(mean, sd²).
func predicted(density func(y, eta, scale float64) float64, scaled bool, mean, sd, y float64) (log, doubt float64) {
	if !scaled {
		return solver.LogMean(func(dst, eta []float64) {
			for i := range dst {
				dst[i] = density(y, eta[i], 0)
			}
		}, []float64{mean}, []float64{sd * sd})
	}
	return solver.LogMean(func(dst, eta []float64) {
		for i := range dst {
			dst[i] = density(y, eta[2*i], math.Exp(eta[2*i+1]))
		}
	}, []float64{mean, logScale}, []float64{sd * sd, 0, 0, logScaleSD * logScaleSD})
}

// onGrid returns the same log density by a sum over a grid. If scaled, the likelihood has a scale.
func onGrid(density func(y, eta, scale float64) float64, scaled bool, mean, sd, y float64) float64 {
	const most = 9 // in sds
	step, scales := 2e-4, []float64{0}
	if scaled {
		step, scales = 5e-3, nil
		for z := -float64(most); z <= most; z += 0.2 {
			scales = append(scales, z)
		}
	}
	normal := distuv.UnitNormal
	var logs []float64
	for _, z := range scales {
		weight := 0.0
		if scaled {
			weight = normal.LogProb(z) + math.Log(0.2)
		}
		scale := math.Exp(logScale + logScaleSD*z)
		for x := -float64(most); x <= most; x += step {
			logs = append(logs, weight+normal.LogProb(x)+math.Log(step)+density(y, mean+sd*x, scale))
		}
	}
	return floats.LogSumExp(logs)
}
