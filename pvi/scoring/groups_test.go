package scoring_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// grouped has settings in which intercepts or slopes vary between groups. In two of them, the slope
// of x2 varies although x2 is not a term of the model.
var grouped = map[string]setting{
	"groups, linear":   {`family = "linear", noise_sd = 0.5`, measured, 2000, 3, 5, 0.5, 0, "g", 12, 0},
	"groups, logistic": {logistic.model, logistic.outcome, 4000, 3, 5, 0.5, 0, "1 + x2 | g", 8, 0},
	"groups, learned":  {`family = "linear", noise_sd = "learned"`, measured, 2000, 3, 5, 0.5, 0, "1 + x1 | g", 6, 0},
	"groups, slopes":   {`family = "linear", noise_sd = 0.5`, measured, 3000, 3, 5, 0.5, 0, "0 + x0 + x2 | g", 5, 0},
}

// averaged computes the exact posterior mean and variance of θ for a linear regression with groups
// and known noise. It does not use package hierarchy, but integrates over a grid of log spreads.
func (w *world) averaged(sd float64) (mean, variance []float64) {
	const points = 50
	d, effects := w.model.Dim(), w.model.Effects()
	regression := w.model.Regression(w.records)
	gram, moment := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	row := mat.NewVecDense(d, nil)
	for i, y := range regression.Outcomes() {
		row.Zero()
		at, values := regression.Design().Row(i)
		for n, j := range at {
			row.SetVec(int(j), values[n])
		}
		gram.SymRankOne(gram, 1/(sd*sd), row)
		moment.AddScaledVec(moment, y/(sd*sd), row)
	}
	mean, variance = make([]float64, d), make([]float64, d)
	squares := make([]float64, d)
	var total, first float64
	z := make([]float64, len(effects))
	var each func(n int)
	each = func(n int) {
		if n < len(effects) {
			for k := range points {
				z[n] = 3 * (float64(k) + .5) / points
				each(n + 1)
			}
			return
		}
		prior := mat.NewDiagDense(d, nil)
		var log float64
		for i, p := range w.model.Parameters.All() {
			prior.SetDiag(i, 1/(p.Prior.SD*p.Prior.SD))
		}
		for n, e := range effects {
			spread := z[n]
			for i := e.First; i < e.First+e.Levels; i++ {
				prior.SetDiag(i, 1/(spread*spread))
				log -= math.Log(spread)
			}
			log -= z[n] * z[n] / 2
		}
		precision := mat.NewSymDense(d, nil)
		precision.CopySym(gram)
		for i := range d {
			precision.SetSym(i, i, precision.At(i, i)+prior.At(i, i))
		}
		var c mat.Cholesky
		c.Factorize(precision)
		var m mat.VecDense
		var cov mat.SymDense
		if c.SolveVecTo(&m, moment) != nil || c.InverseTo(&cov) != nil {
			panic("the posterior is not proper")
		}
		if log += mat.Dot(moment, &m)/2 - c.LogDet()/2; total == 0 {
			first = log
		}
		weight := math.Exp(log - first)
		total += weight
		for i := range d {
			x, v := m.AtVec(i), cov.At(i, i)
			for n, e := range effects {
				if i == e.Spread {
					x, v = z[n], 0
				}
			}
			mean[i] += weight * x
			squares[i] += weight * (x*x + v)
		}
	}
	each(0)
	for i := range d {
		mean[i] /= total
		variance[i] = squares[i]/total - mean[i]*mean[i]
	}
	return mean, variance
}

// If the privacy noise is negligible and the noise of the outcome is known, the posterior is close
// to the exact one, including the spreads.
func TestGroupsWithoutNoise(t *testing.T) {
	for _, name := range []string{"groups, linear", "groups, slopes"} {
		const multiplier = 1e-3
		w := grouped[name].world(t, multiplier, 3)
		mean, variance := w.averaged(0.5)
		got, wide := w.play(t, multiplier, 3).Posterior()
		for i, p := range w.model.Parameters.All() {
			sd := math.Sqrt(variance[i])
			if off, ratio := math.Abs(got[i]-mean[i])/sd, math.Sqrt(wide.At(i, i))/sd; off > 0.2 || ratio < 0.9 || ratio > 1.35 { // clipping the curvatures of rare groups makes intervals wider
				t.Errorf("%s: %s is %.4f ± %.4f, want %.4f ± %.4f", name, p.Name, got[i], sd*ratio, mean[i], sd)
			}
		}
	}
}

// If noise hides the records, the posterior has nearly the same means and standard deviations as
// the prior.
func TestGroupsInNothingButNoise(t *testing.T) {
	const multiplier = 1e6
	for name, s := range grouped {
		w := s.world(t, multiplier, 3)
		mean, cov := w.play(t, multiplier, 3).Posterior()
		for i, p := range w.model.Parameters.All() {
			if sd := math.Sqrt(cov.At(i, i)); math.Abs(mean[i]-p.Prior.Mean) > 0.1*p.Prior.SD || sd < 0.85*p.Prior.SD || sd > 1.1*p.Prior.SD {
				t.Errorf("%s: %s is %.3f ± %.3f, the prior %.3f ± %.3f", name, p.Name, mean[i], sd, p.Prior.Mean, p.Prior.SD)
			}
		}
	}
}

// If all group effects are zero, the interval of the spread is close to zero.
func TestLabelsOfNothing(t *testing.T) {
	s := grouped["groups, linear"]
	w := s.worldAt(t, 0.5, 5, func(truth []float64) { clear(truth[4:]) })
	mean, cov := w.play(t, 0.5, 5).Posterior()
	e := w.model.Effects()[0]
	sd := math.Sqrt(cov.At(e.Spread, e.Spread))
	if low, high := mean[e.Spread]-1.96*sd, mean[e.Spread]+1.96*sd; low > 0 || high > 0.15 {
		t.Errorf("the spread of groups that do not differ lies between %.3f and %.3f", low, high)
	}
}

// The regressors of a record do not depend on the previous contents of the buffer.
func TestRowsAreSeparate(t *testing.T) {
	for name, s := range grouped {
		s.n = 200
		w := s.world(t, 3, 1)
		x := make([]float64, w.Regressors())
		r := rand.New(rand.NewPCG(1, 1))
		for range 200 {
			i := r.IntN(s.n)
			fresh := make([]float64, w.Regressors())
			y, again := w.Row(x, w.records, i), w.Row(fresh, w.records, i)
			if y != again || !slices.Equal(x, fresh) {
				t.Fatalf("%s: record %d has regressors %v, in an empty buffer %v", name, i, x, fresh)
			}
			levels, slopes := w.records.Groups(i)
			for n, e := range w.model.Effects() {
				first := 3 + n*s.levels // after the intercept and two columns
				want := 1.0
				if e.Slope >= 0 {
					want = slopes[e.Slope]
				}
				for k, v := range x[first : first+s.levels] {
					if k != int(levels[0]) && v != 0 || k == int(levels[0]) && v != want {
						t.Fatalf("%s: the effect of group %d has regressor %g in a record of group %d", name, k, v, levels[0])
					}
				}
			}
		}
	}
}

// At ε = 1, enough 90 % intervals contain true values that were drawn from the prior. In twelve
// replications they contained .92 of the fixed effects, .92 of the group effects, and .85 of the
// spreads. The limit for the 32 spreads is .9 minus four standard errors.
func TestGroupsHoldTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of statistics")
	}
	const multiplier, replications = 3.73, 4
	kinds := []string{"coefficients", "effects", "spreads"}
	least := map[string]float64{"coefficients": 0.8, "effects": 0.84, "spreads": 0.69}
	held, of := map[string]float64{}, map[string]float64{}
	for _, s := range grouped {
		for seed := range uint64(replications) {
			w := s.world(t, multiplier, 300+seed)
			mean, cov := w.play(t, multiplier, 300+seed).Posterior()
			for i, p := range w.model.Parameters.All() {
				kind := kinds[0]
				if p.Spread != "" {
					kind = kinds[1]
				} else if p.HalfNormal > 0 {
					kind = kinds[2]
				}
				of[kind]++
				if contains90(mean, cov, i, w.truth[i]) {
					held[kind]++
				}
			}
		}
	}
	for _, kind := range kinds {
		share := held[kind] / of[kind]
		t.Logf("%s: intervals of 90 %% hold %.3f of %.0f", kind, share, of[kind])
		if share < least[kind] {
			t.Errorf("%s: intervals of 90 %% hold %.3f of the truth", kind, share)
		}
	}
}

// Even with many small groups, noise must not make the curvature of effects too large and thus the
// spread too small. The exact curvature is the number of records divided by the variance of the
// noise. Fewer than 5 of 7 intervals contain the spread with probability .026.
func TestManyGroups(t *testing.T) {
	const multiplier, replications, first, sd, levels = 3.73, 7, 3, 0.5, 40
	s := setting{`family = "linear", noise_sd = 0.5`, measured, 1000, 3, 5, sd, 0, "g", levels, 0}
	log, held := 0.0, 0
	for seed := uint64(first); seed < first+replications; seed++ {
		w := s.world(t, multiplier, seed)
		last := w.play(t, multiplier, seed)
		curvature, sum := last.Curvature(), 0.0
		for i := curvature.SymmetricDim() - levels; i < curvature.SymmetricDim(); i++ {
			sum += curvature.At(i, i)
		}
		log += math.Log(sum/(float64(s.n)/(sd*sd))) / replications
		mean, cov := last.Posterior()
		if k := w.model.Effects()[0].Spread; contains90(mean, cov, k, w.truth[k]) {
			held++
		}
	}
	if ratio := math.Exp(log); ratio > 1.3 || ratio < 0.8 {
		t.Errorf("the curvature of the effects is %.2f times the exact curvature", ratio)
	}
	if held < 5 {
		t.Errorf("intervals of 90 %% hold %d of %d spreads", held, replications)
	}
}
