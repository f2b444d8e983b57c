package solver_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// The predictive log density agrees with a sum over a fine grid, although some likelihoods are
// thousands of times narrower than the distribution of the predictor. The limit is wider for two
// predictors, for which the rule of points is less exact.
func TestPredict(t *testing.T) {
	for _, c := range []struct {
		outcome solver.Outcome
		density func(y, eta, scale float64) float64 // log density
		sds, ys []float64
		limit   float64
	}{
		{
			solver.Outcome{Family: study.Poisson},
			func(y, eta, _ float64) float64 { return y*eta - math.Exp(eta) - lgamma(y+1) },
			[]float64{1, 3, 8},
			[]float64{0, 1, 40, 2000},
			0.01,
		},
		{
			solver.Outcome{Family: study.Logistic},
			func(y, eta, _ float64) float64 { return -math.Log1p(math.Exp((1 - 2*y) * eta)) },
			[]float64{.1, 3, 8},
			[]float64{0, 1},
			0.01,
		},
		{
			solver.Outcome{Family: study.Linear, NoiseSD: .01},
			func(y, eta, _ float64) float64 { return distuv.Normal{Mu: eta, Sigma: .01}.LogProb(y) },
			[]float64{3, 8},
			[]float64{-3, 0, 9},
			0.01,
		},
		{
			solver.Outcome{Family: study.Linear},
			func(y, eta, scale float64) float64 { return distuv.Normal{Mu: eta, Sigma: scale}.LogProb(y) },
			[]float64{.1, .5, 8},
			[]float64{0, 2, 8},
			0.1,
		},
		{
			solver.Outcome{Family: study.Robust, DegreesOfFreedom: 4},
			func(y, eta, scale float64) float64 {
				return distuv.StudentsT{Mu: eta, Sigma: scale, Nu: 4}.LogProb(y)
			},
			[]float64{.1, .5, 8},
			[]float64{0, 2, 8},
			0.1,
		},
		{
			solver.Outcome{Family: study.NegativeBinomial},
			func(y, eta, size float64) float64 {
				mu := math.Exp(eta)
				return lgamma(y+size) - lgamma(size) - lgamma(y+1) + y*(eta-math.Log(mu+size)) - size*math.Log1p(mu/size)
			},
			[]float64{.1, 1, 8},
			[]float64{0, 10, 200},
			0.1,
		},
	} {
		for _, sd := range c.sds {
			for _, y := range c.ys {
				got := predicted(t, c.outcome, 1.3, sd, y)
				want := onGrid(c.density, c.outcome.Response().Size() > 1, 1.3, sd, y)
				if !(math.Abs(got-want) <= c.limit) {
					t.Errorf("%s, predictor 1.3 ± %g, outcome %g: log density %.4f, want %.4f", c.outcome.Family, sd, y, got, want)
				}
			}
		}
	}
}

func lgamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}

// Moments of the log of the scale in TestPredict.
const logScale, logScaleSD = -0.5, 0.7

// predicted returns Predict's log density of an outcome y, for a predictor of the location N(mean,
// sd²).
func predicted(t *testing.T, o solver.Outcome, mean, sd, y float64) float64 {
	k := o.Response().Size()
	r := solver.NewRegression(k, o)
	for a := range k {
		r.Load(a, 1)
		r.EndPredictor()
	}
	r.EndRecord(y)
	family := gaussian.Full(k)
	natural := make([]float64, family.Size())
	variances := []float64{sd * sd, logScaleSD * logScaleSD}
	if err := family.FromMoments(natural, []float64{mean, logScale}[:k], mat.NewDiagDense(k, variances[:k])); err != nil {
		t.Fatal(err)
	}
	q, err := solver.NewApproximation(family, natural)
	if err != nil {
		t.Fatal(err)
	}
	log, _ := r.Predict(0, y, q)
	return log
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
