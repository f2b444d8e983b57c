package baseline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fedpvi/accountant"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// play sets up a logistic regression with a single coefficient: an intercept or the slope of x.
func play(t *testing.T, n int, inference, privacy, baseline string) *sim.Play {
	t.Helper()
	text := fmt.Sprintf(`
column = [
  { name = "x", type = "numeric", bounds = [-1, 1] },
  { name = "y", type = "categorical", levels = ["no", "yes"] },
]
study = { version = 1, name = "baseline" }
[model]
family = "logistic"
outcome = "y"
positive = "yes"
terms = ["x"]
intercept = false
[inference]
rounds = 1
%s
[privacy]
unit = "record"
delta = 1e-5
%s
[simulation]
clients = 1
baseline = %q
synthetic.records_per_client = %d
synthetic.truth.x = 1.0
`, inference, privacy, baseline, n)
	st, err := study.Parse("baseline.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := sim.NewPlay(st, sim.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// exact computes the mean and standard deviation of a tempered posterior by quadrature. It limits
// each record's log likelihood to at least −bound, and raises the likelihood to the power w.
func exact(p *sim.Play, w, bound float64) (mean, sd float64) {
	s := p.Federation.Shards[0]
	var total, first, second float64
	for theta := -8.0; theta < 8; theta += 0.005 {
		log := -theta * theta / 2
		for i := range s.Len() {
			x, y := s.Record(i)
			log += w * max(-bound, -math.Log1p(math.Exp(-(2*y-1)*theta*x[0])))
		}
		q := math.Exp(log + 100*w) // without the factor e^(100·w) the density could underflow
		total, first, second = total+q, first+q*theta, second+q*theta*theta
	}
	mean = first / total
	return mean, math.Sqrt(second/total - mean*mean)
}

// A chain of 20,000 steps with η = 0.02 at a precision Λ of about 10 has an autocorrelation time of
// 2/(ηΛ) = 10 steps. Its last half is as precise as 500 independent samples, whose mean has a
// standard error of .045 sds and whose sd has one of 3.2 %. The bounds are four standard errors,
// plus 3 % for the step size.
func TestLangevinSamplesThePosterior(t *testing.T) {
	p := play(t, 120, "steps = 20000\nstep_size = 0.02\nstep_decay = 1.0\naverage = 0.5", "noise_multiplier = 0.05\nclip = 1.0", "dp-sgld")
	if _, err := Play(p, 3); err != nil {
		t.Fatal(err)
	}
	mean, sd := exact(p, 1, math.Inf(1))
	found := p.Posterior()
	gotMean, gotSD := found[0]/found[1], 1/math.Sqrt(found[1])
	if math.Abs(gotMean-mean) > 0.2*sd || math.Abs(gotSD/sd-1) > 0.16 {
		t.Errorf("samples are %.3f ± %.3f, the posterior %.3f ± %.3f", gotMean, gotSD, mean, sd)
	}
}

// The only record has hardly any effect, so the chain is an autoregression around the prior mean
// with coefficient 1 − η/2. The noise of a step has variance η or, if that is larger, η²/4 times
// the variance of the noisy sums. The average over 10,000 steps is at least as precise as
// 10,000·(η/2)/2 independent samples.
func TestLangevinVariance(t *testing.T) {
	for _, c := range []struct{ clip, eta, step float64 }{
		{1e-9, 0.2, 0.2},            // the privacy noise is negligible, so a step adds noise of variance η
		{1e-9 + 3, 0.2, 0.01 * 900}, // the sum has sd 30, so a step has variance η²/4·900
	} {
		p := play(t, 1, fmt.Sprintf("steps = 20000\nstep_size = %g\nstep_decay = 1.0\naverage = 0.5", c.eta),
			fmt.Sprintf("noise_multiplier = 10.0\nclip = %g", c.clip), "dp-sgld")
		if _, err := Play(p, 5); err != nil {
			t.Fatal(err)
		}
		forget := 1 - c.eta/2
		want := c.step / (1 - forget*forget)
		got := 1 / p.Posterior()[1]
		if math.Abs(got/want-1) > 0.16 { // the sd of a variance that is estimated from about 500 independent samples is 6.3 %
			t.Errorf("clip %g: variance %g, want %g", c.clip, got, want)
		}
	}
}

// Langevin steps must cost as much as the same number of variational inference steps.
func TestLangevinCost(t *testing.T) {
	p := play(t, 20, "steps = 50\nstep_size = 0.01", "epsilon = 0.7\nclip = 1.0", "dp-sgld")
	cost, err := Play(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	if cost.Claimed != cost.Proven || math.Abs(cost.Proven-0.7) > 1e-3 || cost.Proven > 0.7 {
		t.Errorf("cost %+v, want at most 0.7", cost)
	}
}

// The parameter θ has two values. The exact pure ε of one sample from the tempered posterior must
// not exceed the ε for which the power was chosen, and must come close to it.
func TestWeight(t *testing.T) {
	const epsilon, bound = 0.8, 3.0
	for _, adjacency := range []accountant.Adjacency{accountant.AddRemove, accountant.ReplaceOne} {
		w := weight(epsilon, bound, adjacency)
		r := rand.New(rand.NewPCG(1, 2))
		var most float64
		for range 20_000 {
			// θ has two values, one of them rare. prior combines the prior and the likelihood of
			// all other records.
			prior := []float64{r.Float64() * 1e-3, 1}
			said := [2][2]float64{} // log likelihoods of the record and of its replacement, at both values of θ
			for i := range said {
				for j := range said[i] {
					said[i][j] = -bound * math.Round(r.Float64())
				}
			}
			if adjacency == accountant.AddRemove {
				said[1] = [2]float64{}
			}
			most = max(most, ratio(prior, said, w))
		}
		if most > epsilon+1e-12 || most < 0.99*epsilon {
			t.Errorf("%s: odds move by at most e^%g, want e^%g", adjacency, most, epsilon)
		}
	}
	if w := weight(100, bound, accountant.AddRemove); w != 1 {
		t.Errorf("with a large ε the likelihood is raised to %g", w)
	}
}

// ratio returns the maximum over θ of |log(p(θ)/p′(θ))|, where p and p′ are the tempered posteriors
// with the record and with its replacement.
func ratio(prior []float64, said [2][2]float64, w float64) float64 {
	var p [2][2]float64
	for i := range p {
		var total float64
		for j := range p[i] {
			p[i][j] = prior[j] * math.Exp(w*said[i][j])
			total += p[i][j]
		}
		for j := range p[i] {
			p[i][j] /= total
		}
	}
	return max(math.Abs(math.Log(p[0][0]/p[1][0])), math.Abs(math.Log(p[0][1]/p[1][1])))
}

// The last states of 40 chains must be samples from the tempered posterior. Their mean has a
// standard error of .16 sds, and their sd has one of 11 %. The bounds are four standard errors.
func TestOneSample(t *testing.T) {
	p := play(t, 30, "", "epsilon = 0.5\nclip = 1.0", "one-posterior-sample")
	mean, sd := exact(p, 0.5, 1)
	const samples = 40
	all := newMoments(1)
	for seed := range uint64(samples) {
		cost, err := Play(p, seed)
		if err != nil {
			t.Fatal(err)
		}
		if cost.Claimed != 0.5 || !math.IsNaN(cost.Proven) {
			t.Fatalf("cost %+v: a chain proves nothing", cost)
		}
		found := p.Posterior()
		all.add([]float64{found[0] / found[1]})
	}
	gotMean, gotSD := all.found()
	if math.Abs(gotMean[0]-mean) > 0.64*sd || math.Abs(gotSD[0]/sd-1) > 0.45 {
		t.Errorf("samples are %.3f ± %.3f, the tempered posterior %.3f ± %.3f", gotMean[0], gotSD[0], mean, sd)
	}
}
