package accountant

import (
	"math"
	"testing"
)

func must(t *testing.T) func(Bound, error) Bound {
	return func(b Bound, err error) Bound {
		t.Helper()
		check(t, err)
		return b
	}
}

// The reference rates are those of the Neyman-Pearson test in each direction. A profile must give
// the larger of the two.
func TestAttackRiskVectors(t *testing.T) {
	var cases []struct {
		ID        string
		Q, Sigma  float64
		T         int
		FPR       []float64
		TPR       []float64 `json:"tpr"`
		Remove    []float64 `json:"tpr_remove"`
		Add       []float64 `json:"tpr_add"`
		Advantage float64
		Accuracy  float64 `json:"mia_accuracy_prior_half"`
	}
	readVectors(t, "attack_risk", &cases)
	ok := must(t)
	above, below := 0.0, 0.0
	compare := func(what string, got Bound, want float64) {
		t.Helper()
		checkBounds(t, what, got, want, 1e-3, 2e-3)
		above, below = max(above, got.Upper/want-1), max(below, 1-got.Lower/want)
	}
	for _, c := range cases {
		p := account(t, poisson(c.Q, c.Sigma, c.T, AddRemove))
		compare(c.ID+" advantage", ok(p.Advantage()), c.Advantage)
		compare(c.ID+" accuracy", ok(p.Accuracy()), c.Accuracy)
		for i, fpr := range c.FPR {
			want := 0.0
			for _, rates := range [][]float64{c.TPR, c.Remove, c.Add} {
				if len(rates) > 0 {
					want = max(want, rates[i])
				}
			}
			if want == 0 {
				t.Fatalf("%s: no rates", c.ID)
			}
			compare(c.ID+" rate", ok(p.TruePositiveRate(fpr)), want)
		}
	}
	t.Logf("at most %.1e above and %.1e below", above, below)
}

// The true-positive rate for a Gaussian release must be Φ(Φ⁻¹(fpr) + μ).
func TestGaussianTrueRate(t *testing.T) {
	ok := must(t)
	for _, mu := range []float64{1e-3, 0.1, 1, 3, 10, 30} {
		p := account(t, Gaussian{mu, 1, ReplaceOne})
		for z := -30.0; z <= 8; z += 0.37 {
			fpr := normalCDF(z)
			want := normalCDF(z + mu)
			got := ok(p.TruePositiveRate(fpr))
			// blur bounds the relative error that the rounding of fpr causes in the reference rate.
			blur := 1e-9 + 0x1p-53/fpr + 0x1p-52/normalDensity(z)*normalDensity(z+mu)/want
			checkUpper(t, "upper", got.Upper*(1+0x1p-40), want, 2*blur)
			checkLower(t, "lower", got.Lower, want*(1+blur), 3*blur)
		}
		if got := ok(p.Accuracy()); math.Abs(got.Upper-GaussianGuess(mu)) > 1e-9 {
			t.Errorf("accuracy at μ = %g: %g, want %g", mu, got.Upper, GaussianGuess(mu))
		}
	}
}

// For one Poisson step, the rates of threshold tests have a closed form in both directions.
func TestOneStepTrueRate(t *testing.T) {
	const q, sigma = 0.2, 0.7
	p := account(t, Poisson{q, sigma, AddRemove})
	ok := must(t)
	for _, x := range []float64{-0.5, 0, 0.4, 0.8, 1.5, 2.2, 3} {
		null := normalCDF(-x / sigma)
		mix := (1-q)*null + q*normalCDF((1-x)/sigma)
		if got := ok(p.TruePositiveRate(null)); got.Upper < mix {
			t.Errorf("at %g: upper bound %g is below the rate %g of a test for removal", null, got.Upper, mix)
		}
		// In the test for addition, the answer is yes to the left of the threshold.
		if got := ok(p.TruePositiveRate(1 - mix)); got.Upper < 1-null {
			t.Errorf("at %g: upper bound %g is below the rate %g of a test for addition", 1-mix, got.Upper, 1-null)
		}
		best := max(mix, 0)
		for y := -4.0; y < 5; y += 1e-3 { // all thresholds y in the other direction whose false-positive rate is at most null
			if 1-((1-q)*normalCDF(-y/sigma)+q*normalCDF((1-y)/sigma)) <= null {
				best = max(best, normalCDF(y/sigma))
			}
		}
		got := ok(p.TruePositiveRate(null))
		checkUpper(t, "upper", got.Upper, best, 4e-3)
		checkLower(t, "lower", got.Lower, best*(1+4e-3), 1e-2)
	}
}

// The true-positive rate must be a concave function of the false-positive rate, and must be between
// it and one. More noise must lower the rate. The bounds from a single (ε, δ) must be at least as
// large.
func TestTrueRateShape(t *testing.T) {
	ok := must(t)
	fprs := []float64{1e-9, 1e-5, 1e-3, 0.1, 0.5, 0.9}
	for name, e := range map[string]Event{
		"poisson":     poisson(0.02, 1, 300, AddRemove),
		"replace-one": poisson(0.05, 2, 100, ReplaceOne),
		"fixed size":  Repeated{WithoutReplacement{0.01, 1.5, ReplaceOne}, 200},
		"zero-out":    Repeated{WithoutReplacement{0.05, 2, ZeroOut}, 50},
		"laplace":     Laplace{1, 2, AddRemove},
		"mix":         Composed{Gaussian{1, 3, AddRemove}, poisson(0.1, 2, 50, AddRemove), Approximate{0.1, 1e-6, AddRemove}},
		"discrete":    Repeated{DiscreteGaussian{1 << 14, 1 << 15, 3, 10, ReplaceOne}, 7},
		"nothing":     poisson(0, 1, 5, AddRemove),
		"all":         Repeated{Gaussian{1, 0.01, AddRemove}, 100},
	} {
		p := account(t, e)
		curve, err := p.TradeOff(fprs)
		check(t, err)
		before, lastSlope := 0.0, math.Inf(1)
		advantage := ok(p.Advantage())
		deltas := []float64{1e-6, 0.01}
		promise := []Bound{ok(p.Epsilon(deltas[0])), ok(p.Epsilon(deltas[1]))}
		for i, b := range curve {
			fpr := fprs[i]
			if !(b.Lower <= b.Upper && fpr <= b.Lower && b.Upper <= 1) || b.Upper < before {
				t.Errorf("%s: at %g the rate is in [%g, %g], after %g", name, fpr, b.Lower, b.Upper, before)
			}
			if i > 0 {
				slope := (b.Upper - before) / (fpr - fprs[i-1])
				if slope > lastSlope*(1+1e-3) {
					t.Errorf("%s: slope %g after %g: not concave", name, slope, lastSlope)
				}
				lastSlope = slope
			}
			before = b.Upper
			if b.Lower-fpr > advantage.Upper*(1+1e-9) {
				t.Errorf("%s: the rate %g at %g is beyond the advantage %g", name, b.Lower, fpr, advantage.Upper)
			}
			for j, epsilon := range promise {
				delta := deltas[j]
				if loose := TruePositiveRateBound(epsilon.Upper, delta, fpr); b.Upper > loose*(1+1e-3) {
					t.Errorf("%s: the rate %g at %g is above %g, which (%g, %g) implies", name, b.Upper, fpr, loose, epsilon.Upper, delta)
				}
				if loose := AdvantageBound(epsilon.Upper, delta); advantage.Lower > loose {
					t.Errorf("%s: the advantage %g is above %g, which (%g, %g) implies", name, advantage.Lower, loose, epsilon.Upper, delta)
				}
			}
		}
		t.Logf("%s: at a false-positive rate of 0.001 in [%.6g, %.6g]", name, curve[2].Lower, curve[2].Upper)
	}
}

// If T losses are at most ε₀ each, the true-positive rate must be at most e^(Tε₀)·fpr, and must
// come close to it at small rates.
func TestBoundedLossTrueRate(t *testing.T) {
	ok := must(t)
	p := account(t, Repeated{Laplace{1, 4, AddRemove}, 3})
	for _, fpr := range []float64{1e-9, 1e-3, 1e-2} {
		got := ok(p.TruePositiveRate(fpr))
		if got.Upper > math.Exp(0.75)*fpr*(1+1e-3) || got.Upper < fpr*1.5 {
			t.Errorf("at %g: %g, want at most a little above %g", fpr, got.Upper, math.Exp(0.75)*fpr)
		}
	}
}

// The worst (ε, δ)-private release is randomised response that reveals the truth with probability
// δ. It must reach the bounds.
func TestRiskBoundsAreReached(t *testing.T) {
	ok := must(t)
	for _, c := range []struct{ epsilon, delta float64 }{{0.5, 0}, {1, 1e-5}, {0.1, 0.2}, {3, 0.01}, {20, 1e-9}} {
		p := account(t, Approximate{c.epsilon, c.delta, AddRemove})
		want := c.delta + (1-c.delta)*math.Tanh(c.epsilon/2)
		if got := AdvantageBound(c.epsilon, c.delta); relative(got, want) > 1e-12 || got < want*(1-1e-15) {
			t.Errorf("advantage of (%g, %g): %.17g, want %.17g", c.epsilon, c.delta, got, want)
		}
		if got := ok(p.Advantage()); relative(got.Upper, want) > 1e-8 {
			t.Errorf("advantage of (%g, %g): %g, want %g", c.epsilon, c.delta, got.Upper, want)
		}
		for _, fpr := range []float64{1e-6, 1e-3, 0.1, 0.5, 0.9} {
			want := TruePositiveRateBound(c.epsilon, c.delta, fpr)
			got := ok(p.TruePositiveRate(fpr))
			checkUpper(t, "rate", got.Upper*(1+1e-9), want, 1e-4)
		}
	}
}

// The privacy loss of a Gaussian release has the distribution N(μ²/2, μ²), so OddsFactor must be
// one of its quantiles.
func TestOddsFactor(t *testing.T) {
	ok := must(t)
	for _, mu := range []float64{0.1, 1, 3} {
		for _, z := range []float64{2, 3, 5} {
			want := mu*mu/2 + mu*z
			got := ok(account(t, Gaussian{mu, 1, AddRemove}).OddsFactor(normalCDF(-z)))
			checkBounds(t, "log odds factor", got, want, 0.6, 0.8)
			t.Logf("μ %g, z %g: %.4g in [%.4g, %.4g]", mu, z, want, got.Lower, got.Upper)
		}
	}
	p := account(t, poisson(0.01, 1, 1000, AddRemove))
	factor := ok(p.OddsFactor(1e-5))
	if epsilon := ok(p.Epsilon(1e-5)); factor.Upper < epsilon.Lower {
		t.Errorf("a factor of e^%g, below e^%g", factor.Upper, epsilon.Lower)
	}
}

func TestGroupEpsilon(t *testing.T) {
	ok := must(t)
	const delta = 1e-5
	// For Gaussian releases, the bound for groups must be exact.
	for _, k := range []int{1, 2, 10, 1000} {
		p := account(t, Repeated{Gaussian{1, 50, AddRemove}, 9})
		got := ok(p.GroupEpsilon(k, delta))
		want := GaussianEpsilon(float64(k)*3/50, delta)
		checkUpper(t, "upper", got.Upper, want, 1e-9)
		checkLower(t, "lower", got.Lower, want, 1e-9)
	}
	// For other releases, each pair (ε, δ) on the profile gives a guarantee for the group. At rate
	// one, the true cost is known.
	for _, k := range []int{2, 5} {
		p := account(t, poisson(0.01, 1, 500, AddRemove))
		got := ok(p.GroupEpsilon(k, delta))
		best := math.Inf(1)
		for epsilon := 0.05; epsilon < 30; epsilon += 0.05 {
			d, err := p.DeltaBy(Contour, epsilon)
			if err != nil {
				d = ok(p.DeltaBy(RenyiDP, epsilon))
			}
			if group, total := GroupPrivacy(epsilon, d.Upper, k); total <= delta {
				best = group
				break
			}
		}
		if got.Upper > best*1.001 || got.Upper < best-0.05*float64(k) {
			t.Errorf("group of %d: %g, want about %g", k, got.Upper, best)
		}
		t.Logf("group of %d: [%.4g, %.4g]", k, got.Lower, got.Upper)
	}
	if eps, del := GroupPrivacy(0.5, 0, 4); eps < 2 || eps > 2+1e-12 || del != 0 {
		t.Errorf("group guarantee from (ε, 0): (%g, %g)", eps, del)
	}
	if eps, del := GroupPrivacy(0, 1e-3, 4); eps != 0 || del != 4e-3 {
		t.Errorf("group guarantee from (0, δ): (%g, %g)", eps, del)
	}
	if _, del := GroupPrivacy(800, 1e-300, 2); del != 1 {
		t.Errorf("group guarantee that should be vacuous: δ = %g", del)
	}
	// The reference is a geometric sum of k terms, which is equal to δ(e^(kε) − 1)/(e^ε − 1).
	_, del := GroupPrivacy(0.3, 1e-4, 3)
	if want := 1e-4 * (1 + math.Exp(0.3) + math.Exp(0.6)); relative(del, want) > 1e-11 {
		t.Errorf("group δ %g, want %g", del, want)
	}
}

func TestPosterior(t *testing.T) {
	for _, c := range []struct{ prior, tpr, fpr, want float64 }{
		{0.5, 0.5, 0.5, 0.5},
		{0.1, 0.9, 0.1, 0.5},
		{0.5, 0, 0.1, 0},
		{0.5, 1, 0, 1},
	} {
		if got := Posterior(c.prior, c.tpr, c.fpr); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("Posterior(%g, %g, %g) = %g, want %g", c.prior, c.tpr, c.fpr, got, c.want)
		}
	}
}

func TestRiskErrors(t *testing.T) {
	p := account(t, Gaussian{1, 1, AddRemove})
	for _, x := range []float64{0, 1, -1, math.NaN()} {
		if _, err := p.TruePositiveRate(x); err == nil {
			t.Errorf("no error for a false-positive rate of %g", x)
		}
		if _, err := p.OddsFactor(x); err == nil {
			t.Errorf("no error for a probability of %g", x)
		}
	}
	if _, err := p.GroupEpsilon(0, 1e-5); err == nil {
		t.Error("no error for an empty group")
	}
}
