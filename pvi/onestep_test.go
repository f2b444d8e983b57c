package pvi

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/lastround"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

const oneStepStudy = `
study = { version = 1, name = "curvature" }
model = { family = "logistic", outcome = "y", positive = ">= 0.5", terms = ["x", "w"], standardise = "none" }
inference = { rounds = 2, steps = 3, step_size = 0.02, noise_aware = "one-step" }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
federation = { max_records = 5000 }
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "w"
type = "numeric"
bounds = [-2, 2]
[[column]]
name = "y"
type = "numeric"
bounds = [0, 1]
`

func oneStepProtocol(t *testing.T, overrides ...study.Override) *Protocol {
	t.Helper()
	return protocolFor(t, 2, oneStepStudy, overrides...)
}

func oneStepShard(p *Protocol, from, to int) *shard.Shard {
	records := new(shard.Records)
	for i := from; i < to; i++ {
		x, w := math.Sin(float64(i)), 2*math.Sin(float64(3*i))
		y := 0.0
		if math.Sin(float64(7*i)) < x-w/2 {
			y = 1
		}
		records.Append([]float64{x, w, y})
	}
	return shard.Design(p.study, records)
}

func foretold(s *lastround.Site) *lastround.Plan {
	plan := s.Foretell()
	return &plan
}

func (h *house) last(t testing.TB, seed uint64) (*lastround.Server, []*lastround.Site, *lastround.Outcome) {
	t.Helper()
	server, err := h.server.LastRound()
	check(t, err)
	plan, ok := server.Next()
	if !ok {
		t.Fatal("no plan")
	}
	var outcome *lastround.Outcome
	var sites []*lastround.Site
	for m, s := range h.sites {
		site, err := s.LastRound(h.shards[m])
		check(t, err)
		sites = append(sites, site)
		var r lastround.Release
		check(t, site.Propose(&r, &plan, seeded.Stream(seed, "last", uint64(m))))
		outcome, err = server.Collect(&r)
		check(t, err)
	}
	return server, sites, outcome
}

// defaultHouse returns a house after all rounds but the last.
func defaultHouse(t testing.TB, p *Protocol) *house {
	t.Helper()
	h := houseOf(t, p, 1, oneStepShard(p, 0, 150), oneStepShard(p, 150, 400))
	h.run()
	return h
}

// The study's ε is at most 0.1 % below its target, both with steps over all records and with
// batches. In the former case, the test also checks that rounds, gradient and curvature use up
// their shares of μ².
func TestOneStepIsPaidFor(t *testing.T) {
	for _, o := range [][]study.Override{
		nil,
		{set("privacy.epsilon", "4.0")},
		{set("inference.noise_aware_shares", "[0.5, 0.1, 0.4]")},
		{set("privacy.adjacency", `"replace-one"`)},
		{set("inference.sampling_rate", "0.1"), set("inference.steps", "20")},
	} {
		p := oneStepProtocol(t, o...)
		c, privacy := p.After()[0], p.study.Privacy
		costs, err := p.Costs(p.Releases())
		check(t, err)
		if e := costs[0].Epsilon; e > privacy.Epsilon || e < privacy.Epsilon*(1-1e-3) {
			t.Errorf("%v: the study costs ε = %g, the target is %g", o, e, privacy.Epsilon)
		}
		fewer, err := p.Cost(p.Views()[0], privacy.Adjacency, p.Releases()-1)
		check(t, err)
		if fewer.Epsilon > 0.95*costs[0].Epsilon {
			t.Errorf("%v: without the last round ε = %g, with it %g", o, fewer.Epsilon, costs[0].Epsilon)
		}
		if p.Releases() != stepsOf(p).Total+1 {
			t.Errorf("%v: %d releases, %d steps", o, p.Releases(), stepsOf(p).Total)
		}
		want := [3]float64{0.25, 0.50, 0.25}
		if privacy.Epsilon > 1 {
			want = [3]float64{0.25, 0.60, 0.15}
		}
		if p.study.Inference.NoiseAwareShares[0] > 0 {
			want = p.study.Inference.NoiseAwareShares
		}
		if c.Shares != want {
			t.Errorf("%v: shares are %v", o, c.Shares)
		}
		if stepsOf(p).Rate < 1 {
			continue
		}
		mu := func(m interface{ NoiseMultiplier() float64 }) float64 {
			return privacy.Adjacency.Factor() / m.NoiseMultiplier()
		}
		parts := [3]float64{float64(stepsOf(p).Total) * math.Pow(mu(steppedOf(p).Sampled()), 2), math.Pow(mu(c.Gradient), 2), math.Pow(mu(c.Curvature), 2)}
		all := math.Pow(accountant.GaussianMu(privacy.Epsilon, privacy.Delta), 2)
		for i, part := range parts {
			if math.Abs(part/all-want[i]) > 1e-5 {
				t.Errorf("%v: part %d takes %g of the budget, want %g", o, i, part/all, want[i])
			}
		}
	}
}

// Gradients are clipped at the default for noise-aware intervals. The bound for curvatures follows
// from ‖x‖² ≤ 1 + 1 + 4, including the intercept, and from a second derivative of at most 1/4.
func TestOneStepClips(t *testing.T) {
	p := oneStepProtocol(t)
	if got, want := p.After()[0].Gradient.Clip(), 0.9*math.Sqrt(1+1./3+4./3); math.Abs(got-want) > 1e-12 {
		t.Errorf("gradients are clipped to %g, want %g", got, want)
	}
	if got, want := p.After()[0].Curvature.Clip(), 6.0/4; math.Abs(got-want) > 1e-12 {
		t.Errorf("curvatures are clipped to %g, want %g", got, want)
	}
	if got := oneStepProtocol(t, set("inference.noise_aware", `"closed-form"`)).After(); len(got) > 0 {
		t.Error("the closed form has a last round")
	}
}

// Given the same noise, releases computed from neighbouring records differ by at most C in norm, or
// by 2C if a record is replaced.
func TestOneStepSensitivity(t *testing.T) {
	p := oneStepProtocol(t, set("privacy.clip", "0.5"))
	h := defaultHouse(t, p)
	value := rapid.OneOf(rapid.Float64Range(-2, 2), rapid.SampledFrom([]float64{-2, 2, 0, 1e-300, math.NaN(), math.Inf(1), -1e308, 50}))
	rapid.Check(t, func(rt *rapid.T) {
		row := rapid.Custom(func(rt *rapid.T) []float64 {
			return []float64{value.Draw(rt, "x"), value.Draw(rt, "w"), rapid.SampledFrom([]float64{0, 1}).Draw(rt, "y")}
		})
		with, without := new(shard.Records), new(shard.Records)
		records := rapid.SliceOfN(row, 1, 5).Draw(rt, "records")
		for i, r := range records {
			with.Append(r)
			if i < len(records)-1 {
				without.Append(r)
			}
		}
		factor := 1.0
		if rapid.Bool().Draw(rt, "replaced") {
			without.Append(row.Draw(rt, "other"))
			factor = 2
		}
		var releases [2]lastround.Release
		for k, r := range []*shard.Records{with, without} {
			s := lastround.NewSite(p.After()[0], p.startOfLast(h.sites[0].q), h.sites[0].ID(), shard.Design(p.study, r), 0)
			check(rt, s.Propose(&releases[k], foretold(s), seeded.Stream(3, "noise")))
		}
		c := p.After()[0]
		for _, part := range []struct {
			name string
			of   *dpmech.GaussianSum
			a, b []int64
		}{
			{"gradient", c.Gradient, releases[0].Gradient, releases[1].Gradient},
			{"curvature", c.Curvature, releases[0].Curvature, releases[1].Curvature},
		} {
			squares := new(big.Int)
			for i := range part.a {
				n := big.NewInt(part.a[i] - part.b[i])
				squares.Add(squares, n.Mul(n, n))
			}
			clip := int64(factor * math.Floor(math.Ldexp(part.of.Clip(), part.of.Lattice().Exponent())))
			if most := big.NewInt(clip); squares.Cmp(most.Mul(most, most)) > 0 {
				rt.Fatalf("the %s moves by more than %g times the clip", part.name, factor)
			}
		}
	})
}

// With hardly any noise, the opened sums are the gradient and the curvature of all records
// together, at the mean of the final q.
func TestOneStepSums(t *testing.T) {
	p := oneStepProtocol(t, set("privacy.epsilon", ""), set("privacy.noise_multiplier", "0.01"), set("privacy.clip", "1000"))
	h := defaultHouse(t, p)
	_, _, o := h.last(t, 1)
	c, point := p.After()[0], h.server.q.mean()
	if !slices.Equal(o.Point, point) {
		t.Fatalf("the point is %v, the mean %v", o.Point, point)
	}
	gradient, bend := make([]float64, 3), mat.NewSymDense(3, nil)
	for _, s := range h.shards {
		for i := range s.Len() {
			x, y := s.Record(i)
			prob := 1 / (1 + math.Exp(-mat.Dot(mat.NewVecDense(3, x), mat.NewVecDense(3, point))))
			for j := range x {
				gradient[j] += (y - prob) * x[j]
			}
			bend.SymRankOne(bend, prob*(1-prob), mat.NewVecDense(3, x))
		}
	}
	gradientSD, bendSD := p.After()[0].Noise(2)
	for j, want := range gradient {
		if got := c.Gradient.Lattice().Float(o.Gradient[j]); math.Abs(got-want) > 6*gradientSD {
			t.Errorf("gradient %d is %g, want %g", j, got, want)
		}
	}
	k := 0
	for i := range 3 {
		for j := range i + 1 {
			want := bend.At(i, j)
			if i != j {
				want *= math.Sqrt2
			}
			if got := c.Curvature.Lattice().Float(o.Curvature[k]); math.Abs(got-want) > 6*bendSD {
				t.Errorf("curvature (%d, %d) is %g, want %g", i, j, got, want)
			}
			k++
		}
	}
}

// In a linear model with known noise the log likelihood is quadratic, so that one step from any
// point leads to the exact posterior, apart from the noise.
func TestOneStepIsExactForAParabola(t *testing.T) {
	p := oneStepProtocol(t, set("model.family", `"linear"`), set("model.positive", ""), set("model.noise_sd", "0.5"),
		set("inference.solver", `"dp-svi"`), set("privacy.epsilon", ""), set("privacy.noise_multiplier", "0.01"), set("privacy.clip", "1000"))
	h := defaultHouse(t, p)
	_, _, o := h.last(t, 2)
	// Nothing is clipped here, and the noise is negligible beside both sums.
	mean, cov, err := p.After()[0].Posterior(o, steppedOf(p).ClosedFormNoise())
	check(t, err)
	precision, right := mat.NewSymDense(3, nil), mat.NewVecDense(3, nil)
	for j := range 3 {
		precision.SetSym(j, j, 1)
	}
	for _, s := range h.shards {
		for i := range s.Len() {
			x, y := s.Record(i)
			precision.SymRankOne(precision, 4, mat.NewVecDense(3, x))
			right.AddScaledVec(right, 4*y, mat.NewVecDense(3, x))
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(precision) {
		t.Fatal("no posterior")
	}
	want, inverse := mat.NewVecDense(3, nil), mat.NewSymDense(3, nil)
	check(t, errors.Join(chol.SolveVecTo(want, right), chol.InverseTo(inverse)))
	noise, _ := p.After()[0].Noise(2)
	for j := range 3 {
		sd := noise * inverse.At(j, j)
		if math.Abs(mean[j]-want.AtVec(j)) > 8*sd+2e-2*math.Abs(want.AtVec(j)) {
			t.Errorf("mean %d is %g, want %g ± %g", j, mean[j], want.AtVec(j), sd)
		}
		exact := inverse.At(j, j)
		for k := range 3 {
			exact += noise * noise * inverse.At(j, k) * inverse.At(j, k)
		}
		if ratio := cov.At(j, j) / exact; ratio < 0.98 || ratio > 1.1 {
			t.Errorf("variance %d is %g times the variance from the formula", j, ratio)
		}
	}
}

// Posterior always returns the same bits for the same outcome, and the last round leaves q
// unchanged.
func TestOneStepFollowsFromTheOutcome(t *testing.T) {
	p := oneStepProtocol(t)
	h := defaultHouse(t, p)
	before := slices.Clone(h.server.Posterior())
	_, _, o := h.last(t, 1)
	a, covA, err := p.After()[0].Posterior(o, steppedOf(p).ClosedFormNoise())
	check(t, err)
	b, covB, err := p.After()[0].Posterior(o, steppedOf(p).ClosedFormNoise())
	if err != nil || !slices.Equal(a, b) || !mat.Equal(covA, covB) {
		t.Errorf("two posteriors of one outcome, %v", err)
	}
	if !slices.Equal(before, h.server.Posterior()) {
		t.Error("the last round moved q")
	}
}

// Each element has noise with the variance σ² of one noise share. The test sums the squares over
// 300 seeds, which gives a χ² variable with 300·size degrees of freedom. A correct program is more
// than six standard deviations off with probability below 10⁻⁸.
func TestOneStepNoise(t *testing.T) {
	p := oneStepProtocol(t)
	h := defaultHouse(t, p)
	const seeds = 300
	var gradients, bends [][]int64
	for seed := range uint64(seeds) {
		site, err := h.sites[0].LastRound(h.shards[0])
		check(t, err)
		var r lastround.Release
		check(t, site.Propose(&r, foretold(site), seeded.Stream(seed, "noise")))
		gradients, bends = append(gradients, r.Gradient), append(bends, r.Curvature)
	}
	for name, part := range map[string]struct {
		of   *dpmech.GaussianSum
		runs [][]int64
	}{"gradient": {p.After()[0].Gradient, gradients}, "curvature": {p.After()[0].Curvature, bends}} {
		var squares, degrees float64
		for i := range part.runs[0] {
			var mean float64
			for _, run := range part.runs {
				mean += float64(run[i]) / seeds
			}
			for _, run := range part.runs {
				squares += (float64(run[i]) - mean) * (float64(run[i]) - mean)
			}
			degrees += seeds - 1
		}
		sigma := float64(part.of.ShareSigma())
		if ratio := squares / (sigma * sigma) / degrees; math.Abs(ratio-1) > 6*math.Sqrt(2/degrees) {
			t.Errorf("the %s has %g times the variance of a noise share", name, ratio)
		}
	}
	// Gradient and curvature get independent noise, so their first elements move in the same direction
	// in about half of the runs.
	same := 0
	for k := range gradients {
		if float64(gradients[k][0]-gradients[0][0])*float64(bends[k][0]-bends[0][0]) > 0 {
			same++
		}
	}
	if same > seeds*3/4 {
		t.Errorf("both parts move together in %d of %d runs", same, seeds)
	}
}

// If only sums are opened, the noise shares that an observer cannot subtract add up to the given
// noise multiplier. This holds in the last round too, and the study meets its target.
func TestOneStepUnderSums(t *testing.T) {
	p := oneStepProtocol(t, set("federation.opens", `"sums"`), set("inference.steps", ""), set("inference.rounds", "6"))
	h := defaultHouse(t, p)
	_, sites, o := h.last(t, 1)
	if o.Verdict != Accepted || sites[0].Releases() != 1 {
		t.Fatalf("%+v", o)
	}
	_, _, err := p.After()[0].Posterior(o, steppedOf(p).ClosedFormNoise())
	check(t, err)
	c := p.After()[0]
	gradient, bend := p.After()[0].Noise(2)
	for name, part := range map[string]struct {
		got float64
		of  *dpmech.GaussianSum
	}{"gradient": {gradient, c.Gradient}, "curvature": {bend, c.Curvature}} {
		if want := part.of.NoiseMultiplier() * part.of.Clip(); math.Abs(part.got/want-1) > 1e-6 {
			t.Errorf("the %s's noise in a sum is %g, want %g", name, part.got, want)
		}
	}
	costs, err := p.Costs(p.Releases())
	check(t, err)
	if e := costs[0].Epsilon; e > 1 || e < 0.999 {
		t.Errorf("the study costs ε = %g, the target is 1", e)
	}
	site, err := h.sites[0].LastRound(h.shards[0])
	check(t, err)
	plan := foretold(site)
	point := plan.Point
	far := slices.Clone(point)
	far[0] += 1e-3
	for _, other := range [][]float64{far, far[1:]} {
		if plan.Point = other; site.Check(plan) == nil {
			t.Error("a point that is not the mean of the posterior is accepted")
		}
	}
	far[0] = point[0] + 1e-12
	if plan.Point = far; site.Check(plan) != nil {
		t.Error("a point that differs by rounding is refused")
	}
}
