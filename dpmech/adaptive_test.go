package dpmech_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

func newAdaptive(t testing.TB, cfg dpmech.Config, rule dpmech.ClipRule) *dpmech.AdaptiveSum {
	t.Helper()
	a, err := dpmech.NewAdaptiveSum(cfg, rule)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// adaptiveSum returns what a release adds up to, noisy and without noise.
func adaptiveSum(t testing.TB, a *dpmech.AdaptiveSum, src *dpmech.Stream, vectors ...[]float64) (dst, sum []int64) {
	t.Helper()
	dst, sum = make([]int64, a.Sum().Dim()), make([]int64, a.Sum().Dim())
	err := a.Release(dst, sum, src, func(add func([]float64) error) error {
		for _, v := range vectors {
			if err := add(v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dst, sum
}

// norms are populations of norms around 1, whose logarithms may have any width.
var norms = []struct {
	name string
	draw func(r *rand.Rand) float64
}{
	{"lognormal", func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) }},
	{"heavy-tailed", func(r *rand.Rand) float64 { return math.Abs(r.NormFloat64() / r.NormFloat64()) }}, // half-Cauchy
	{"constant-ish", func(r *rand.Rand) float64 { return math.Exp(0.05 * r.NormFloat64()) }},
	{"uniform", func(r *rand.Rand) float64 { return 2 * r.Float64() }},
}

// From a hundred times too small or too large the clip is at its quantile ± 0.05
// of the population after 60 rounds, whatever the norms are like. As over clients: n
// of them, one vector each, σ = √n/4, so that noise of sd 0.4/√n is on the share that
// is within the clip. Seeds 1 to 3.
func TestAdaptiveClipConverges(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic of one thread: without -short")
	}
	const rounds = 60
	for _, p := range norms {
		for _, n := range []int{100, 1000} {
			for _, quantile := range []float64{0.5, 0.8} {
				for _, off := range []float64{0.01, 100} {
					t.Run(fmt.Sprintf("%s/%d/%g/%g", p.name, n, quantile, off), func(t *testing.T) {
						for seed := range uint64(3) {
							checkConvergence(t, seed+1, rounds, n, 1, quantile, off, p.draw)
						}
					})
				}
			}
		}
	}
}

// Records in Poisson batches: the normaliser is q·N, and the batch that comes is
// another number. Seeds 1 and 2.
func TestAdaptiveClipPoisson(t *testing.T) {
	for _, p := range norms {
		for _, off := range []float64{0.01, 100} {
			for seed := range uint64(2) {
				checkConvergence(t, seed+1, 60, 4000, 0.1, 0.5, off, p.draw)
			}
		}
	}
}

func checkConvergence(t *testing.T, seed uint64, rounds, n int, q, quantile, off float64, draw func(*rand.Rand) float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	population := make([]float64, n)
	for i := range population {
		population[i] = draw(r)
	}
	sorted := slices.Sorted(slices.Values(population))
	start := off * sorted[int(quantile*float64(n))]
	expected := q * float64(n)
	rule := dpmech.DefaultClipRule(start, expected)
	rule.Quantile = quantile
	cfg := dpmech.Config{
		Dim: 2, Clip: start, NoiseMultiplier: math.Sqrt(expected) / 4, Shares: 1, Terms: n, Releases: 1, Adjacency: accountant.AddRemove,
	}
	a := newAdaptive(t, cfg, rule)
	src := seeded.Stream(seed, "adaptive", uint64(n))
	for range rounds {
		var batch [][]float64
		for i, norm := range population {
			if q == 1 || r.Float64() < q {
				batch = append(batch, []float64{norm * math.Cos(float64(i)), norm * math.Sin(float64(i))})
			}
		}
		total, _ := adaptiveSum(t, a, src, batch...)
		if err := a.Follow(total); err != nil {
			t.Fatal(err)
		}
	}
	at, _ := slices.BinarySearch(sorted, a.Clip())
	if reached := float64(at) / float64(n); math.Abs(reached-quantile) > 0.05 {
		t.Errorf("seed %d: the clip %g, from %g, is the %g-quantile, want %g", seed, a.Clip(), start, reached, quantile)
	}
}

// Whatever the vector, adding it moves the integer sum by at most ⌊C'/step⌋ for
// the clip of every round, and replacing it by at most twice that.
func TestAdaptiveSensitivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := ordinary
		cfg.Dim = rapid.IntRange(1, 10).Draw(t, "dim")
		cfg.Clip = math.Exp(rapid.Float64Range(-20, 20).Draw(t, "log clip"))
		rule := dpmech.DefaultClipRule(cfg.Clip, 100)
		rule.Share = rapid.Float64Range(0.001, 0.999).Draw(t, "share")
		a, err := dpmech.NewAdaptiveSum(cfg, rule)
		if err != nil {
			t.Fatal(err)
		}
		total := make([]int64, cfg.Dim+1)
		for round := range uint64(3) {
			var sums [2][]int64
			for k := range sums {
				v := make([]float64, cfg.Dim)
				for i := range v {
					v[i] = a.Clip() * rapid.Float64Range(-2, 2).Draw(t, "element")
				}
				dst := make([]int64, cfg.Dim+1)
				sums[k] = make([]int64, cfg.Dim+1)
				err := a.Release(dst, sums[k], seeded.Stream(round, "adaptive"), func(add func([]float64) error) error { return add(v) })
				if err != nil {
					t.Fatal(err)
				}
				checkSensitivity(t, a.Sum(), sums[k], v)
			}
			apart := make([]int64, cfg.Dim+1)
			for i := range apart {
				apart[i] = sums[0][i] - sums[1][i]
			}
			bound := new(big.Int).Lsh(clipSteps(a.Sum()), 1)
			if normSquared(apart).Cmp(bound.Mul(bound, bound)) > 0 {
				t.Fatalf("replacing a vector moves the sum by %v, more than twice the clip", apart)
			}
			total[cfg.Dim] = rapid.Int64Range(-1<<40, 1<<40).Draw(t, "count")
			if err := a.Follow(total); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The count is of norms of at most C less half of the vectors, in units of twice
// the mark; vectors are clipped to C, not to C'.
func TestAdaptiveCount(t *testing.T) {
	cfg := ordinary
	rule := dpmech.DefaultClipRule(cfg.Clip, 10)
	a := newAdaptive(t, cfg, rule)
	inside, outside := []float64{0, 1.999, 0}, []float64{0, 0, -7}
	for _, c := range []struct {
		vectors [][]float64
		want    float64 // of b̂
	}{
		{nil, 0.5},
		{[][]float64{inside}, 0.55},
		{[][]float64{outside}, 0.45},
		{[][]float64{inside, inside, inside, outside, {math.NaN(), 0, 0}}, 0.6},
	} {
		_, sum := adaptiveSum(t, a, seeded.Stream(1, "count"), c.vectors...)
		if got, err := a.Fraction(sum); err != nil || math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%d vectors: b̂ is %g, want %g, %v", len(c.vectors), got, c.want, err)
		}
	}
	_, sum := adaptiveSum(t, a, seeded.Stream(1, "count"), outside)
	if got := a.Sum().Lattice().Float(sum[2]); got > -2*(1-1e-6) || got < -2 {
		t.Errorf("a vector of norm 7 adds %g, want −2", got)
	}
	var noise dpmech.Noise
	dst, one := make([]int64, 4), make([]int64, 4)
	a.Draw(&noise, seeded.Stream(1, "count"))
	if err := a.ReleaseOne(dst, one, &noise, outside); err != nil || !slices.Equal(one, sum) {
		t.Errorf("one vector adds %v, want %v, %v", one, sum, err)
	}
	// The norm goes into the noise that was drawn for the clip of this round.
	a.Draw(&noise, seeded.Stream(1, "count"))
	if err := a.Follow(dst); err != nil {
		t.Fatal(err)
	}
	if err := a.ReleaseOne(dst, one, &noise, outside); err == nil {
		t.Error("noise for an earlier clip hides a release")
	}
}

// The noise that the mechanism makes is the paper's: σ_Δ on a clipped vector and
// σ_b on the count with z⁻² = σ_Δ⁻² + (2σ_b)⁻², z what the event states.
func TestAdaptiveEventIsThePaper(t *testing.T) {
	for _, share := range []float64{0.01, 0.1, 0.5} {
		cfg := ordinary
		cfg.Shares, cfg.NoiseMultiplier = 1, 3
		rule := dpmech.DefaultClipRule(cfg.Clip, 10)
		rule.Share = share
		a := newAdaptive(t, cfg, rule)
		_, yes := adaptiveSum(t, a, seeded.Stream(1, "event"), []float64{0, 0, 0})
		noise := a.Sum().Lattice().Float(a.Sum().ShareSigma()) // on every element
		unit := 2 * a.Sum().Lattice().Float(yes[3])            // what a count of one is
		sigmaDelta, sigmaB := noise/a.Clip(), noise/unit
		want := math.Sqrt(1/(sigmaDelta*sigmaDelta) + 1/(4*sigmaB*sigmaB))
		for _, e := range []accountant.Event{a.Sum().Event(), a.Event()} {
			p, err := accountant.Account(e)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(p.Mu()/want-1) > 1e-6 || math.Abs(p.Mu()*3-1) > 1e-6 {
				t.Errorf("share %g: μ is %g, the paper's noise gives %g, the multiplier %g", share, p.Mu(), want, 1.0/3)
			}
		}
		if got := 1 / (4 * sigmaB * sigmaB) / (want * want); math.Abs(got-share) > 1e-6 {
			t.Errorf("the count takes %g of μ², want %g", got, share)
		}
	}
}

// A plan's event costs no less than that of any round.
func TestAdaptivePlanCoversEveryRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := ordinary
		cfg.Clip = math.Exp(rapid.Float64Range(-20, 20).Draw(t, "log clip"))
		cfg.NoiseMultiplier = math.Exp(rapid.Float64Range(-4, 8).Draw(t, "log multiplier"))
		cfg.Shares = rapid.IntRange(1, 50).Draw(t, "shares")
		a, err := dpmech.NewAdaptiveSum(cfg, dpmech.DefaultClipRule(cfg.Clip, 10))
		if err != nil {
			t.Fatal(err)
		}
		for _, adjacency := range []accountant.Adjacency{accountant.ZeroOut, accountant.ReplaceOne} {
			round := a.Sum().EventFor(3, adjacency).(accountant.DiscreteGaussian)
			plan := a.EventFor(3, adjacency).(accountant.DiscreteGaussian)
			if round.Sensitivity/round.Sigma > plan.Sensitivity/plan.Sigma || round.Sigma < plan.Sigma || round.Dim > plan.Dim || round.Shares != plan.Shares {
				t.Fatalf("a round costs %+v, the plan says %+v", round, plan)
			}
		}
	})
}

// A restored clip goes on as if nothing had happened, and what is no state of the
// rule is refused.
func TestAdaptiveRestore(t *testing.T) {
	cfg := ordinary
	rule := dpmech.DefaultClipRule(cfg.Clip, 4)
	a := newAdaptive(t, cfg, rule)
	src := seeded.Stream(1, "restore")
	step := func(a *dpmech.AdaptiveSum, total []int64) {
		t.Helper()
		if err := a.Follow(total); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		total, _ := adaptiveSum(t, a, src, []float64{5, 0, 0})
		step(a, total)
	}
	state, err := a.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	b := newAdaptive(t, cfg, rule)
	if err := b.Restore(state); err != nil {
		t.Fatal(err)
	}
	total, _ := adaptiveSum(t, a, src, []float64{0, 0, 0.1})
	for _, m := range []*dpmech.AdaptiveSum{a, b} {
		step(m, total)
	}
	if a.Clip() != b.Clip() || a.Sum().ShareSigma() != b.Sum().ShareSigma() || b.Followed() != 6 || a.Clip() == cfg.Clip {
		t.Errorf("after a restart the clip is %g, want %g", b.Clip(), a.Clip())
	}
	for _, bad := range []string{"", "{", `{"Steps":4000000}`, `{"Steps":-4000000}`, `{"Turns":1}`, `{"Rising":2}`} {
		if err := b.Restore([]byte(bad)); err == nil {
			t.Errorf("state %q is taken up", bad)
		}
	}
	if err := a.Follow(total[:2]); err == nil {
		t.Error("a sum of another length is followed")
	}
}

// The clip stops at its limits, so that there is always a mechanism.
func TestAdaptiveLimits(t *testing.T) {
	cfg := ordinary
	rule := dpmech.DefaultClipRule(cfg.Clip, 0.5)
	rule.Settled = rule.Rate
	rule.Floor, rule.Ceiling = cfg.Clip/3, cfg.Clip*3
	a := newAdaptive(t, cfg, rule)
	total := make([]int64, 4)
	for _, c := range []struct {
		count int64
		want  float64
	}{{1 << 60, rule.Floor}, {-1 << 60, rule.Ceiling}, {1 << 60, rule.Floor}} {
		total[3] = c.count
		for range 10 {
			if err := a.Follow(total); err != nil {
				t.Fatal(err)
			}
		}
		if a.Clip() < rule.Floor || a.Clip() > rule.Ceiling || math.Abs(a.Clip()/c.want-1) > 1e-4 {
			t.Errorf("the clip is %g, want it to stop at %g", a.Clip(), c.want)
		}
	}
}

// One step is C·exp(−η(b̂ − γ)), and the step shrinks when the clip turns round.
func TestAdaptiveStep(t *testing.T) {
	cfg := ordinary
	rule := dpmech.DefaultClipRule(cfg.Clip, 10)
	rule.Quantile, rule.Rate, rule.Settled = 0.7, 0.8, 0.3
	a := newAdaptive(t, cfg, rule)
	want := cfg.Clip
	follow := func(rate float64, vectors ...[]float64) {
		t.Helper()
		_, sum := adaptiveSum(t, a, seeded.Stream(1, "step"), vectors...)
		b, err := a.Fraction(sum)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Follow(sum); err != nil {
			t.Fatal(err)
		}
		if want *= math.Exp(-rate * (b - 0.7)); math.Abs(a.Clip()/want-1) > 1e-4 {
			t.Errorf("the clip is %g, want %g", a.Clip(), want)
		}
	}
	small := []float64{1e-9, 0, 0}
	many := slices.Repeat([][]float64{small}, 8) // b̂ = 0.9
	follow(0.8, small)                           // up
	follow(0.8, small)
	follow(0.8/1.5, many...) // down: a turn
	follow(0.8/1.5, many...)
	follow(0.4, small)
	follow(0.8/2.5, many...)
	follow(0.3, small) // settled
}

func TestAdaptiveErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*dpmech.Config, *dpmech.ClipRule)
		want   string
	}{
		{"quantile", func(_ *dpmech.Config, r *dpmech.ClipRule) { r.Quantile = 1 }, "quantile must lie in (0, 1)"},
		{"share", func(_ *dpmech.Config, r *dpmech.ClipRule) { r.Share = math.NaN() }, "share of the count"},
		{"rate", func(_ *dpmech.Config, r *dpmech.ClipRule) { r.Rate = 0 }, "rate must lie"},
		{"settled", func(_ *dpmech.Config, r *dpmech.ClipRule) { r.Settled = 2 }, "settled rate must lie in (0, 1]"},
		{"expected", func(_ *dpmech.Config, r *dpmech.ClipRule) { r.Expected = math.Inf(1) }, "expected number"},
		{"floor", func(_ *dpmech.Config, r *dpmech.ClipRule) { r.Floor = 3 }, "positive floor"},
		{"ceiling", func(_ *dpmech.Config, r *dpmech.ClipRule) { r.Ceiling = math.Inf(1) }, "finite ceiling"},
		{"no lattice", func(_ *dpmech.Config, r *dpmech.ClipRule) { r.Floor = 1e-290 }, "with a clip of 1e-290"},
		{"config", func(c *dpmech.Config, _ *dpmech.ClipRule) { c.Shares = 0 }, "noise shares"},
	} {
		cfg := ordinary
		rule := dpmech.DefaultClipRule(cfg.Clip, 10)
		c.change(&cfg, &rule)
		if _, err := dpmech.NewAdaptiveSum(cfg, rule); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
	}
	a := newAdaptive(t, ordinary, dpmech.DefaultClipRule(ordinary.Clip, 10))
	dst, sum := []int64{9, 9, 9, 9}, []int64{9, 9, 9, 9}
	goesOn := func(add func([]float64) error) error {
		for _, v := range [][]float64{{1, 1, 1}, {1}, {1, 1, 1}} {
			_ = add(v)
		}
		return nil
	}
	if err := a.Release(dst, sum, seeded.Stream(1, "short"), goesOn); err == nil || !allZero(dst) || !allZero(sum) {
		t.Errorf("with a vector too short %v and %v are released: %v", dst, sum, err)
	}
	dst[0], sum[0] = 9, 9
	var noise dpmech.Noise
	a.Draw(&noise, seeded.Stream(1, "short"))
	if err := a.ReleaseOne(dst, sum, &noise, []float64{1}); err == nil || !allZero(dst) || !allZero(sum) {
		t.Errorf("a short vector is released as %v and %v: %v", dst, sum, err)
	}
	if err := a.ReleaseOne(dst, sum, &noise, []float64{1, 1, 1}); err == nil {
		t.Error("the noise of a release that failed hides another one")
	}
}

func allZero(v []int64) bool { return !slices.ContainsFunc(v, func(n int64) bool { return n != 0 }) }

// Encoding, noise drawn before, and adding allocate nothing.
func TestAdaptiveAllocates(t *testing.T) {
	a := newAdaptive(t, ordinary, dpmech.DefaultClipRule(ordinary.Clip, 10))
	dst, sum, v, src := make([]int64, 4), make([]int64, 4), []float64{1, 2, 3}, seeded.Stream(1, "allocates")
	var noise dpmech.Noise
	a.Draw(&noise, src)
	allocated := testing.AllocsPerRun(100, func() {
		a.Draw(&noise, src)
		if err := a.ReleaseOne(dst, sum, &noise, v); err != nil {
			t.Fatal(err)
		}
	})
	if allocated > 0 {
		t.Errorf("a release allocates %g times", allocated)
	}
}
