package accountant

import (
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// Some published programs sample without replacement but do the accounting for Poisson sampling.
// These are the right costs for q = .01, T = 1000, δ = 1e-5.
func TestFixedSizeSamplesAccountedAsPoisson(t *testing.T) {
	for _, c := range []struct{ sigma, addRemove, replace, atLeast float64 }{
		{1, 1.83, 2.84, 13.4},
		{1.5, .92, 1.68, 3.77},
		{2, .62, 1.21, 1.83},
		{8, .125, .264, .272},
	} {
		compare := func(what string, got, want float64) {
			t.Helper()
			digits := math.Pow(10, math.Floor(math.Log10(want))-2)
			if math.Abs(got-want) > digits/2+2e-4*want+1e-12 && math.Abs(got-want) > 0.005*want {
				t.Errorf("σ = %g: %s ε = %.4g, want %g", c.sigma, what, got, want)
			}
		}
		compare("Poisson, add-remove", epsilonOf(t, poisson(.01, c.sigma, 1000, AddRemove), 1e-5).Upper, c.addRemove)
		compare("Poisson, replace-one", epsilonOf(t, poisson(.01, c.sigma, 1000, ReplaceOne), 1e-5).Upper, c.replace)
		b := epsilonOf(t, Repeated{WithoutReplacement{.01, c.sigma, ReplaceOne}, 1000}, 1e-5)
		compare("fixed size, at least", b.Lower, c.atLeast)
		if b.Upper < b.Lower {
			t.Errorf("σ = %g: bounds [%g, %g]", c.sigma, b.Lower, b.Upper)
		}
	}
}

// A published system has batches of 128 out of 60000 records, 20 epochs, σ = 1.5 and δ = 1/60000.
// Its authors give ε ≈ 0.5, which is too low.
func TestVariationalAutoencoderHeadline(t *testing.T) {
	const q, steps, delta = 128. / 60000, 9360, 1. / 60000
	if got := epsilonOf(t, poisson(q, 1.5, steps, AddRemove), delta).Upper; math.Abs(got-.535) > 5e-4 {
		t.Errorf("Poisson: ε = %g, want .535", got)
	}
	b := epsilonOf(t, Repeated{WithoutReplacement{q, 1.5, ReplaceOne}, steps}, delta)
	if math.Abs(b.Lower-1.98) > .01 || math.Abs(b.Upper-2.50) > .01 {
		t.Errorf("without replacement, as the system samples: ε in [%g, %g], want [1.98, 2.50]", b.Lower, b.Upper)
	}
}

// In this example, the bounds on ε are far apart.
func TestFixedSizeGap(t *testing.T) {
	b := epsilonOf(t, Repeated{WithoutReplacement{1. / 1000, 5, ReplaceOne}, 100_000}, 1e-5)
	if math.Abs(b.Lower-.461) > 1e-3 || math.Abs(b.Upper-.533) > 1e-3 {
		t.Errorf("ε in [%g, %g], want [.461, .533]", b.Lower, b.Upper)
	}
}

// DP-SEP visits the records in permuted order. The μ that can be proved is √T/σ, so ε is 22 and not
// 1, as published.
func TestPermutationOfDPSEP(t *testing.T) {
	// published noise multiplier for ε = 1 at N = 1000, T = 100 passes, δ = 1e-5
	const sigma = 2.69
	got := epsilonOf(t, Repeated{Permutation{sigma, ZeroOut}, 100}, 1e-5).Upper
	if math.Abs(got-22) > .5 {
		t.Errorf("ε = %g, want about 22", got)
	}
	c, err := CalibrateNoise(Target{1, 1e-5}, func(s float64) (Event, error) { return poisson(1./1000, s, 100_000, AddRemove), nil })
	if err != nil || math.Abs(c.Value-1.4) > .06 {
		t.Errorf("σ for ε = 1 is %+v, %v, want about 1.4", c, err)
	}
	if _, err := Account(Permutation{sigma, AddRemove}); err == nil || !strings.Contains(err.Error(), "moves others to other batches") {
		t.Errorf("a permutation under add-remove: %v", err)
	}
}

// For σ = 5, δ = 1e-5 and ε ≤ 10, the exact method allows 100 rounds, Rényi divergences at any
// order allow 89, the moments accountant, whose orders end at 33, allows 77, and replace-one allows
// 25.
func TestRoundsOfTheReport(t *testing.T) {
	ok := must(t)
	rounds := func(m Method, a Adjacency) int {
		for n := 1; ; n++ {
			if ok(account(t, Repeated{Gaussian{a.Factor(), 5, a}, n}).EpsilonBy(m, 1e-5)).Upper > 10 {
				return n - 1
			}
		}
	}
	for _, c := range []struct {
		method    Method
		adjacency Adjacency
		want      int
	}{{Exact, ZeroOut, 100}, {RenyiDP, ZeroOut, 89}, {Moments, ZeroOut, 77}, {Exact, ReplaceOne, 25}} {
		if got := rounds(c.method, c.adjacency); got != c.want {
			t.Errorf("%s, %s: %d rounds, want %d", c.method, c.adjacency, got, c.want)
		}
	}
}

func TestSeedPaperVectors(t *testing.T) {
	var cases []struct {
		Setting         string
		Q, Sigma, Delta float64
		T               int
		Poisson         *float64               `json:"poisson_addremove_exact"`
		Replace         *float64               `json:"poisson_replace_exact"`
		Upper           *float64               `json:"wor_replace_upper_dominating_pair"`
		Lower           *float64               `json:"wor_replace_lower_single_pair"`
		Advanced        *float64               `json:"advanced_composition_amplification_analytic"`
		Moments         struct{ Eps *float64 } `json:"abadi_moments_accountant"`
	}
	readVectors(t, "seed_papers_eps", &cases)
	for _, c := range some(cases) {
		b := epsilonOf(t, poisson(c.Q, c.Sigma, c.T, AddRemove), c.Delta)
		checkBounds(t, c.Setting, b, *c.Poisson, 1e-3, 1e-3)
		checkUpper(t, c.Setting, epsilonOf(t, poisson(c.Q, c.Sigma, c.T, ReplaceOne), c.Delta).Upper, *c.Replace, 1e-3)
		if c.Upper != nil && c.Lower != nil {
			b := epsilonOf(t, Repeated{WithoutReplacement{c.Q, c.Sigma, ReplaceOne}, c.T}, c.Delta)
			checkUpper(t, c.Setting, b.Upper, *c.Upper, 1e-3)
			checkLower(t, c.Setting, b.Lower, *c.Lower, 1e-3)
		}
		p := account(t, poisson(c.Q, c.Sigma, c.T, AddRemove))
		if c.Moments.Eps != nil {
			if got, err := p.EpsilonBy(Moments, c.Delta); err != nil || relative(got.Upper, *c.Moments.Eps) > 1e-6 {
				t.Errorf("%s: moments accountant %+v, %v, want %g", c.Setting, got, err, *c.Moments.Eps)
			}
		}
		if c.Advanced != nil {
			if got, err := p.EpsilonBy(Advanced, c.Delta); err != nil || relative(got.Upper, *c.Advanced) > 1e-6 {
				t.Errorf("%s: advanced composition %+v, %v, want %g", c.Setting, got, err, *c.Advanced)
			}
		}
	}
	var sigmas []struct {
		Setting  string
		Q, Delta float64
		T        int
		Target   float64  `json:"target_eps"`
		Poisson  *float64 `json:"poisson_addremove_exact"`
		Replace  *float64 `json:"poisson_replace_exact"`
		Upper    *float64 `json:"wor_replace_upper_dominating_pair"`
	}
	readVectors(t, "seed_papers_sigma", &sigmas)
	if testing.Short() {
		return
	}
	for _, c := range sigmas {
		for _, d := range []struct {
			want  *float64
			event func(sigma float64) Event
		}{
			{c.Poisson, func(sigma float64) Event { return Poisson{c.Q, sigma, AddRemove} }},
			{c.Replace, func(sigma float64) Event { return Poisson{c.Q, sigma, ReplaceOne} }},
			{c.Upper, func(sigma float64) Event { return WithoutReplacement{c.Q, sigma, ReplaceOne} }},
		} {
			if d.want == nil {
				continue
			}
			got, err := CalibrateNoise(Target{c.Target, c.Delta}, func(sigma float64) (Event, error) { return Repeated{d.event(sigma), c.T}, nil })
			if err != nil {
				t.Errorf("%s: %v", c.Setting, err)
				continue
			}
			checkUpper(t, c.Setting+": σ", got.Value, *d.want, 1e-3)
		}
	}
}

// The test computes the cost of one step in three ways: by the Fourier transform, by direct
// integration and, at rate 1, by the closed form for Gaussian releases.
func TestOneStep(t *testing.T) {
	for _, c := range some([]struct{ q, sigma float64 }{{.01, 1}, {.2, .5}, {.5, 3}, {1e-4, .7}, {.9, 1}}) {
		for i, l := range []law{whole(mixture{c.q, c.sigma}), whole(reversed{mixture{c.q, c.sigma}}), whole(opposed{c.q, c.sigma})} {
			one := &composition{steps: []step{{l, 1}}}
			for _, delta := range []float64{1e-3, 1e-6} {
				want := leastEpsilon(l.single, delta)
				if want == 0 {
					continue
				}
				lower, upper := one.windowEpsilon(delta, both)
				if i == 1 && math.IsInf(upper, 1) {
					continue // no bound, because the discretised loss would have too many cells
				}
				if upper < want*(1-1e-9) || upper > want*(1+1e-3)+1e-9 || lower > want*(1+1e-9) || i != 1 && lower < want*(1-2e-3)-1e-9 {
					// Skip the lower bound for addition (i = 1), because the cells of the grid are
					// coarse near the largest loss.
					t.Errorf("q = %g, σ = %g, law %d, δ = %g: transform [%g, %g], integral %g", c.q, c.sigma, i, delta, lower, upper, want)
				}
			}
		}
	}
}

func TestGaussiansByTheTransform(t *testing.T) {
	for _, c := range []struct {
		sigma, times, delta float64
	}{{5, 10, 1e-5}, {10, 1000, 1e-9}, {50, 100_000, 1e-13}, {1, 2, 1e-15}, {100, 1, .3}} {
		l := whole(mixture{1, c.sigma})
		many := &composition{steps: []step{{l, c.times}}}
		want := GaussianEpsilon(math.Sqrt(c.times)/c.sigma, c.delta)
		lower, upper := many.windowEpsilon(c.delta, both)
		checkUpper(t, "upper", upper, want, 3e-4)
		checkLower(t, "lower", lower, want, 5e-4)
		if renyi, _ := many.renyiEpsilon(c.delta); renyi < upper*(1-3e-4) {
			t.Errorf("σ = %g: Rényi ε %g is below %g", c.sigma, renyi, upper)
		}
		if got, _, err := many.contourEpsilon(c.delta); err != nil || relative(got, want) > 1e-10 {
			if c.times > 1 {
				t.Errorf("σ = %g: contour %g, %v, want %g", c.sigma, got, err, want)
			}
		}
	}
}

// A composition of different events must cost the same in any order. It must cost more than each
// event alone, and at most the sum of the costs.
func TestMixtures(t *testing.T) {
	parts := []Event{
		poisson(.02, 1.2, 200, AddRemove),
		Repeated{Gaussian{1, 8, AddRemove}, 5},
		Laplace{1, 4, AddRemove},
		Approximate{.1, 1e-7, AddRemove},
		Repeated{WithoutReplacement{.05, 4, AddRemove}, 20},
		DiscreteGaussian{3, 20, 2, 1, AddRemove},
	}
	const delta = 1e-5
	all := epsilonOf(t, Composed(parts), delta)
	if !(all.Lower <= all.Upper) || all.Lower < .7*all.Upper {
		t.Errorf("bounds [%g, %g] of a mix", all.Lower, all.Upper)
	}
	src := rand.New(rand.NewPCG(3, 4))
	shuffled := append(Composed(nil), parts...)
	src.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if got := epsilonOf(t, shuffled, delta); relative(got.Upper, all.Upper) > 1e-6 {
		t.Errorf("another order costs %g, not %g", got.Upper, all.Upper)
	}
	var sum float64
	for _, e := range parts {
		one := epsilonOf(t, e, delta/float64(len(parts)))
		sum += one.Upper
		if one.Lower > all.Upper {
			t.Errorf("%+v alone costs %g, more than all, %g", e, one.Lower, all.Upper)
		}
	}
	if all.Upper > sum {
		t.Errorf("together %g, one by one %g", all.Upper, sum)
	}
	b, err := account(t, Composed(parts)).EpsilonBy(RenyiDP, delta)
	if err != nil || b.Upper < all.Lower {
		t.Errorf("Rényi: %+v, %v", b, err)
	}
}

func TestLaplaceAndResponse(t *testing.T) {
	const epsilon0 = 0.7
	for _, epsilon := range []float64{0, .2, .5, .7, 1} {
		// A single Laplace release has δ(ε) = 1 − e^((ε−ε₀)/2).
		want := max(0, -math.Expm1((epsilon-epsilon0)/2))
		b, err := account(t, Laplace{epsilon0, 1, AddRemove}).Delta(epsilon)
		if err != nil || math.Abs(b.Upper-want) > 1e-8 || math.Abs(b.Lower-want) > 1e-8 {
			t.Errorf("laplace: δ(%g) = %+v, %v, want %g", epsilon, b, err, want)
		}
	}
	// For k-fold randomised response, δ(ε) is a binomial sum.
	for _, k := range []int{1, 2, 10, 40} {
		b, err := account(t, Repeated{Approximate{epsilon0, 0, AddRemove}, k}).Delta(1.5)
		check(t, err)
		p := 1 / (1 + math.Exp(-epsilon0))
		var want float64
		for j := 0; j <= k; j++ {
			loss := float64(2*j-k) * epsilon0
			choose := math.Exp(logBinomial(k, j))
			want += choose * math.Pow(p, float64(j)) * math.Pow(1-p, float64(k-j)) * max(0, -math.Expm1(1.5-loss))
		}
		if b.Upper < want*(1-1e-9) || b.Upper > want*1.001+1e-12 {
			t.Errorf("%d responses: δ = %g, want %g", k, b.Upper, want)
		}
	}
}

// extremes computes all bounds for an event with unusual parameters. No bound may be NaN, and no
// lower bound may be larger than its upper bound.
func extremes(t *testing.T, q, sigma float64, times int, delta, epsilon float64, a Adjacency, fixed bool) {
	t.Helper()
	var e Event = Poisson{q, sigma, a}
	if fixed {
		e = WithoutReplacement{q, sigma, a}
	}
	p, err := Account(Repeated{e, times})
	if err != nil {
		t.Fatalf("q = %g, σ = %g, T = %d: %v", q, sigma, times, err)
	}
	b, err := p.Epsilon(delta)
	if err != nil || math.IsNaN(b.Upper) || math.IsNaN(b.Lower) || b.Lower < 0 || b.Lower > b.Upper {
		t.Errorf("q = %g, σ = %g, T = %d, δ = %g, %s: ε = %+v, %v", q, sigma, times, delta, a, b, err)
	}
	if b.Vacuous != math.IsInf(b.Upper, 1) {
		t.Errorf("Vacuous is not set: %+v", b)
	}
	r, err := p.EpsilonBy(RenyiDP, delta)
	if err != nil || math.IsNaN(r.Upper) || r.Upper < b.Lower*(1-1e-9) {
		t.Errorf("q = %g, σ = %g, T = %d, δ = %g, %s: Rényi ε = %+v below %g, %v", q, sigma, times, delta, a, r, b.Lower, err)
	}
	if b.Upper > r.Upper*(1+1e-3)+1e-12 {
		t.Errorf("q = %g, σ = %g, T = %d, δ = %g, %s: ε = %g, looser than Rényi's %g", q, sigma, times, delta, a, b.Upper, r.Upper)
	}
	d, err := p.Delta(epsilon)
	if err != nil || math.IsNaN(d.Upper) || math.IsNaN(d.Lower) || d.Lower < 0 || d.Lower > d.Upper || d.Upper > 1 {
		t.Errorf("q = %g, σ = %g, T = %d, ε = %g, %s: δ = %+v, %v", q, sigma, times, epsilon, a, d, err)
	}
	if d.Vacuous != (d.Upper == 1) {
		t.Errorf("Vacuous is not set: %+v", d)
	}
}

func TestExtremes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector")
	}
	all := os.Getenv("FEDPVI_LONG") != ""
	for i, q := range []float64{1e-6, 1e-3, .3, 1} {
		for j, sigma := range []float64{.2, 1, 1000} {
			for k, times := range []int{1, 300, 10_000_000} {
				// Without FEDPVI_LONG, the test makes at most one of the two calls for each
				// setting. But for each pair (q, σ), (q, times) and (σ, times), it still makes
				// both.
				third := (i + j + k) % 3
				if all || third == 0 {
					extremes(t, q, sigma, times, 1e-15, 1e-4, AddRemove, false)
				}
				if all || third == 1 {
					extremes(t, q, sigma, times, .5, 1000, ReplaceOne, false)
				}
			}
		}
	}
	if all { // 17 seconds
		extremes(t, 1e-6, .2, 10_000_000, 1e-9, 1, ReplaceOne, true)
	}
	extremes(t, 1e-6, .2, 1000, 1e-9, 1, ReplaceOne, true)
	extremes(t, .1, 1000, 10_000_000, 1e-9, 1, ReplaceOne, true)
	extremes(t, .5, .2, 1000, 1e-9, 1, ZeroOut, true)
}

// If the given δ is above δ(0), ε must be 0. This happens for a few steps at a small sampling rate.
func TestRareSamples(t *testing.T) {
	for _, c := range []struct {
		e     Event
		delta float64
	}{
		{poisson(1.24e-5, .792, 18, AddRemove), 5.05e-4},
		{poisson(2.05e-5, .501, 15, AddRemove), 7.15e-3},
		{Repeated{WithoutReplacement{0.0002720585465762572, 0.7893826300238321, AddRemove}, 4}, .01},
	} {
		if b := epsilonOf(t, c.e, c.delta); b.Lower != 0 || b.Upper != 0 {
			t.Errorf("%+v: ε in [%g, %g], want 0", c.e, b.Lower, b.Upper)
		}
	}
	b, err := account(t, poisson(1e-4, .6, 10, AddRemove)).Delta(0)
	if err != nil || b.Lower < .0003095 || b.Upper > .000310 {
		t.Errorf("δ(0) = %+v, %v, want about .0003097", b, err)
	}
	// An allocation has no lower bound, so a composition with an allocation has none either.
	mix := Composed{RandomAllocation{1, 1, 2, ZeroOut}, Poisson{.01, 1, ZeroOut}}
	if b := epsilonOf(t, mix, 1e-5); b.Lower > .2 || b.Upper < 1.98 || b.Upper > 2.01 {
		t.Errorf("a mix with a Gaussian that has no lower bound: %+v", b)
	}
	if got := newFixedSize(1e-9, 1, 2).renyi(2); got < 1e-18*math.Exp(1)*.9 {
		t.Errorf("theorem 27 for a tiny rate: %g", got)
	}
}

// Even if the window is too small, the bounds must cover rounding, wrap-around and the mass at
// infinity. The losses are on the grid, so that discretisation adds no slack that could hide an
// error. For k-fold randomised response, the reference is a binomial sum.
func TestChargesAlone(t *testing.T) {
	const epsilon0, k, width = 0.25, 200, 0.25 / 4
	binomial := func(epsilon float64) (delta float64) {
		p := 1 / (1 + math.Exp(-epsilon0))
		for j := 0; j <= k; j++ {
			if loss := float64(2*j-k) * epsilon0; loss > epsilon {
				delta -= math.Exp(logBinomial(k, j)+float64(j)*math.Log(p)+float64(k-j)*math.Log1p(-p)) * math.Expm1(epsilon-loss)
			}
		}
		return delta
	}
	c := &composition{steps: []step{{approximateLaw(epsilon0, 0), k}}}
	for _, order := range []float64{.05, .5, 2} {
		for _, n := range []int{128, 256, 512, 2048} {
			for _, upper := range []bool{true, false} {
				tilt, err := c.tilting(order, width, 0, upper, false)
				check(t, err)
				w := tilt.window(n)
				for i := max(0, w.lowest, -w.first); i < n-1; i++ {
					epsilon := (float64(w.first+i) + .5) * width
					got, ok := w.delta(epsilon)
					want := binomial(epsilon)
					if !ok {
						continue
					}
					if upper && got < want*(1-1e-12) || !upper && got > want*(1+1e-12) {
						t.Fatalf("order %g, %d points, upper %t: δ(%g) = %g, exactly %g", order, n, upper, epsilon, got, want)
					}
				}
				w.release()
			}
		}
	}
}

func FuzzExtremes(f *testing.F) {
	f.Add(.01, 1.0, uint32(1000), -5.0, .1, uint8(0))
	f.Add(1e-6, .2, uint32(10_000_000), -15.0, 3.0, uint8(1))
	f.Add(1.0, 1000.0, uint32(1), -.31, -4.0, uint8(2))
	f.Add(1.24e-5, .792, uint32(17), -3.3, -4.0, uint8(0))
	f.Fuzz(func(t *testing.T, q, sigma float64, times uint32, logDelta, logEpsilon float64, kind uint8) {
		if !(q >= 1e-6 && q <= 1 && sigma >= .2 && sigma <= 1000 && logDelta >= -15 && logDelta <= -.302 && logEpsilon >= -4 && logEpsilon <= 3) {
			t.Skip("outside of the supported range")
		}
		// Long runs are too slow for the fuzzer, but TestExtremes has them.
		extremes(t, q, sigma, int(times%20_000)+1, math.Pow(10, logDelta), math.Pow(10, logEpsilon),
			[]Adjacency{AddRemove, ReplaceOne, ZeroOut}[kind%3], kind%6 >= 3)
	})
}
