package scoring_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"fedpvi/pvi/scoring"
	"fedpvi/pvi/solver"
)

// The clipped values lie between 0 and 8, so the mean over 20,000 counts has a standard error below
// .03.
func TestClippedResidual(t *testing.T) {
	const draws = 20_000
	r := rand.New(rand.NewPCG(4, 1))
	for _, c := range []struct{ mu, mean, frailty float64 }{
		{3, 3, 0}, {3, 5, 0}, {.2, .1, 0}, {3, 3, .5}, {.05, .2, 2}, {20, 15, .1}, {400, 400, .05}, {900, 800, 0}, {900, 1000, .001},
	} {
		var want float64
		for range draws {
			z := [2]float64{r.NormFloat64(), r.NormFloat64()}
			y := solver.Overdispersed(math.Log(c.mean), max(c.frailty, 1e-9), z)
			want += min((y-c.mu)*(y-c.mu)/c.mu, scoring.DispersionClip) / draws
		}
		if got := scoring.ClippedResidual(c.mu, c.mean, c.frailty); math.Abs(got-want) > .1 {
			t.Errorf("mean %v at %v, frailty %v: %v, draws have %v", c.mean, c.mu, c.frailty, got, want)
		}
	}
}

// The test multiplies the means of counts by a random factor of known variance. The interval of the
// dispersion, widened by a tenth, must contain the truth. If there is nothing but noise, the
// dispersion must be 1.
func TestDispersion(t *testing.T) {
	s := families["poisson"]
	for _, c := range []struct{ frailty, multiplier float64 }{{0, .3}, {.5, .3}, {2, .3}, {1, 1e4}} {
		s.frailty = c.frailty
		w := s.worldAt(t, c.multiplier, 5, func(truth []float64) {
			for i := range truth {
				truth[i] = math.Remainder(truth[i], 1)
			}
		})
		var variance, model float64
		regression, eta := w.model.Regression(w.records), make([]float64, 1)
		for i := range w.records.Len() {
			regression.Predictors(eta, i, w.truth)
			mean := math.Exp(eta[0])
			variance += mean * (1 + c.frailty*mean)
			model += mean
		}
		want := variance / model
		median, low, high, ok := w.play(t, c.multiplier, 5).Dispersion()
		if c.multiplier > 1 {
			want = 1
		}
		if !ok || want < .9*low || want > 1.1*high || want == 1 && median != 1 {
			t.Errorf("frailty %v, multiplier %v: dispersion %v [%v, %v], want %v", c.frailty, c.multiplier, median, low, high, want)
		}
	}
	w := logistic.world(t, 1, 5)
	if _, _, _, ok := w.play(t, 1, 5).Dispersion(); ok {
		t.Error("a logistic regression has a dispersion")
	}
}

// If counts vary more than the model says, intervals must contain the truth at least as often as
// those of the pooled records.
func TestHoldsTheTruthOfOverdispersedCounts(t *testing.T) {
	s := families["poisson"]
	s.frailty = 2
	var own, pooled, of float64
	for seed := range uint64(6) {
		w := s.world(t, .3, seed)
		mean, cov := w.play(t, .3, seed).Posterior()
		fit, fitCov := w.pooled(t)
		for i, x := range w.truth {
			of++
			if math.Abs(x-mean[i]) < 1.645*math.Sqrt(cov.At(i, i)) {
				own++
			}
			if math.Abs(x-fit[i]) < 1.645*math.Sqrt(fitCov.At(i, i)) {
				pooled++
			}
		}
	}
	if own/of < .8 || pooled > own {
		t.Errorf("90 %% intervals hold %.2f of the truth, those of the pooled fit %.2f", own/of, pooled/of)
	}
}
