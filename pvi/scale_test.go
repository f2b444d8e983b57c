package pvi

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
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// scaleSource is a study whose scale is to be found; x and y have bounds a hundred
// times wider than [-1, 1], level cannot be standardised.
const scaleSource = `
[study]
version = 1
name = "scales"
[[column]]
name = "x"
type = "numeric"
bounds = [-100, 100]
[[column]]
name = "level"
type = "ordered"
levels = ["a", "b", "c"]
[[column]]
name = "y"
type = "numeric"
bounds = [-100, 100]
[model]
family = "linear"
outcome = "y"
terms = ["x", "level"]
standardise = "private"
noise_sd = 0.5
[inference]
rounds = 2
#inference
[privacy]
#privacy
[standardise]
#standardise
[federation]
max_records = 100000
nominal_records = 50
#federation
`

// Privacy settings for scaleSource.
const (
	recordTarget = "unit = \"record\"\nepsilon = 1\ndelta = 1e-7"
	clientTarget = "unit = \"client\"\nepsilon = 4\ndelta = 1e-5"
)

func scaleStudy(t testing.TB, privacy, standardise, federation string) *study.Study {
	t.Helper()
	source := strings.NewReplacer("#privacy", privacy, "#standardise", standardise, "#federation", federation, "#inference", "").Replace(scaleSource)
	st, err := study.Parse("scales.toml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// spread returns n records with x and y of independent draws.
func spread(n int, draw func() float64) *shard.Records {
	records := new(shard.Records)
	for range n {
		records.Append([]float64{min(max(draw(), -100), 100), 1, min(max(draw(), -100), 100)})
	}
	return records
}

// A scaleHouse is a federation that finds a scale.
type scaleHouse struct {
	t       testing.TB
	scaling *Scaling
	server  *ScaleServer
	sites   []*ScaleSite
	seed    uint64
}

func newScaleHouse(t testing.TB, st *study.Study, seed uint64, clients ...*shard.Records) *scaleHouse {
	t.Helper()
	roster := make([]ClientID, len(clients))
	for m := range roster {
		roster[m] = clientID(m)
	}
	scaling, err := NewScaling(st, roster)
	if err != nil {
		t.Fatal(err)
	}
	h := &scaleHouse{t: t, scaling: scaling, server: NewScaleServer(scaling), seed: seed}
	for m, records := range clients {
		site, err := NewScaleSite(scaling, roster[m], records)
		if err != nil {
			t.Fatal(err)
		}
		h.sites = append(h.sites, site)
	}
	return h
}

func (h *scaleHouse) propose(m int, plan *ScalePlan) *ScaleRelease {
	h.t.Helper()
	r := new(ScaleRelease)
	if err := h.sites[m].Propose(r, plan, seeded.Stream(h.seed, "scale", uint64(m), uint64(plan.Number))); err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h *scaleHouse) settle(o *ScaleOutcome) {
	h.t.Helper()
	for _, s := range h.sites {
		if err := s.Settle(o); err != nil {
			h.t.Fatal(err)
		}
	}
}

// pass plays one pass in which the given clients answer, all if none is given.
func (h *scaleHouse) pass(answering ...int) *ScaleOutcome {
	h.t.Helper()
	plan, ok := h.server.Next()
	if !ok {
		h.t.Fatal("there is no plan")
	}
	var outcome *ScaleOutcome
	for m := range h.sites {
		if len(answering) > 0 && !slices.Contains(answering, m) {
			continue
		}
		var err error
		if outcome, err = h.server.Collect(h.propose(m, &plan)); err != nil {
			h.t.Fatal(err)
		}
	}
	if outcome == nil {
		var err error
		if outcome, err = h.server.Close(); err != nil {
			h.t.Fatal(err)
		}
	}
	h.settle(outcome)
	return outcome
}

// play finds the scale.
func (h *scaleHouse) play() *study.Study {
	h.t.Helper()
	for !h.server.Done() {
		h.pass()
	}
	st, err := h.server.Scaled()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, s := range h.sites {
		own, err := s.Scaled()
		if err != nil || !slices.Equal(own.Scales(), st.Scales()) {
			h.t.Fatalf("client %s has another scale than the server: %v", s.ID(), err)
		}
	}
	return st
}

// Means and sds come out within what the noise of the last pass and sampling
// allow, however wide the bounds were. Seed 1; the error of a mean is within
// five of its sds, that of a variance within five and what clamping takes.
func TestScaleIsFound(t *testing.T) {
	for _, epsilon := range []float64{0.5, 1, 4} {
		for _, n := range []int{3000, 8000} {
			for _, sd := range []float64{0.3, 1, 20} {
				r := rand.New(rand.NewPCG(1, uint64(n)))
				const mean = 5
				draw := func() float64 { return mean + sd*r.NormFloat64() }
				st := scaleStudy(t, fmt.Sprintf("unit = \"record\"\nepsilon = %g\ndelta = 1e-7", epsilon), "budget_share = 0.2", "")
				h := newScaleHouse(t, st, 1, spread(n, draw), spread(n, draw))
				h.pass()
				h.pass()
				width := h.server.Columns()[0].Bounds.High - h.server.Columns()[0].Bounds.Low
				h.play()
				m := h.scaling.Mechanism(3)
				noise := m.Lattice().Float(m.ShareSigma()) * math.Sqrt2 / float64(2*n) * width / 2
				for _, c := range h.server.Columns() {
					what := fmt.Sprintf("ε %g, %d records, sd %g, column %s: %+v", epsilon, 2*n, sd, c.Column, c)
					if math.Abs(c.Mean-mean) > 5*math.Hypot(noise, sd/math.Sqrt(float64(2*n)))+.02*sd {
						t.Errorf("%s: want mean %d", what, mean)
					}
					doubt := noise*(1+2*math.Abs(mean)/width)*width/2 + sd*sd*math.Sqrt(1/float64(n))
					if math.Abs(c.SD*c.SD-sd*sd) > 5*doubt+.05*sd*sd {
						t.Errorf("%s: want sd %g", what, sd)
					}
					// No more than one in fifty is clamped, whatever was found.
					if c.Bounds.Low > mean-2.3*sd || c.Bounds.High < mean+2.3*sd {
						t.Errorf("%s: the bounds cut the records", what)
					}
					// And the bounds are what four sds, or the noise, ask for.
					if reach := 4*math.Sqrt(sd*sd+8*doubt) + 8*noise; c.Bounds.High > min(100, mean+1.2*reach) {
						t.Errorf("%s: the bounds are wider than need be, want reach %g", what, reach)
					}
				}
			}
		}
	}
}

// What the passes cost is the accountant's event, and that of the formula: μ² of all
// passes is the share of the target's, whatever the unit and adjacency. The rest
// is calibrated to it, and the whole meets the target and nearly exhausts it.
func TestScaleIsPaidFor(t *testing.T) {
	for _, c := range []struct{ privacy, federation string }{
		{recordTarget, ""},
		{recordTarget + "\nadjacency = \"replace-one\"", ""},
		{clientTarget, ""},
		{clientTarget, "min_clients = 9\ncolluders = 4"},
		{clientTarget + "\nadjacency = \"replace-one\"", "min_clients = 9"},
	} {
		st := scaleStudy(t, c.privacy, "budget_share = 0.3\nrounds = 4", c.federation)
		roster := make([]ClientID, 10)
		for m := range roster {
			roster[m] = clientID(m)
		}
		st, err := st.WithScale(st.PublicScale())
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewProtocol(st, roster)
		if err != nil {
			t.Fatal(err)
		}
		target := accountant.GaussianMu(st.Privacy.Epsilon, st.Privacy.Delta)
		view, adjacency := p.Views()[0], st.Privacy.Adjacency
		total := 0.0 // μ² of the passes, by the formula
		for n := 1; n <= 4; n++ {
			m := p.Scaling().Mechanism(n)
			sd := float64(m.ShareSigma()) * m.Lattice().Step() * math.Sqrt(float64(view.Shares))
			mu := adjacency.Factor() * m.Clip() / sd
			total += mu * mu
		}
		if math.Abs(total/(0.3*target*target)-1) > 1e-6 {
			t.Errorf("%s: the passes cost μ² = %g, want %g", c.privacy, total, 0.3*target*target)
		}
		profile, err := accountant.Account(p.Scaling().EventFor(view.Shares, adjacency))
		if err != nil || math.Abs(profile.Mu()*profile.Mu()/total-1) > 1e-5 {
			t.Errorf("%s: the event says μ = %g, the formula %g, %v", c.privacy, profile.Mu(), math.Sqrt(total), err)
		}
		// All of it, in every view and adjacency: rounds and passes.
		costs, err := p.Costs(p.Releases())
		if err != nil {
			t.Fatal(err)
		}
		if e := costs[0].Epsilon; e > st.Privacy.Epsilon || e < st.Privacy.Epsilon*(1-1e-6) {
			t.Errorf("%s: the study costs ε = %g, the target is %g", c.privacy, e, st.Privacy.Epsilon)
		}
		for _, cost := range costs {
			var squares float64
			for n := 1; n <= 4; n++ {
				m := p.Scaling().Mechanism(n)
				mu := cost.Adjacency.Factor() * m.Clip() / (float64(m.ShareSigma()) * m.Lattice().Step() * math.Sqrt(float64(cost.View.Shares)))
				squares += mu * mu
			}
			m := p.Mechanism()
			mu := cost.Adjacency.Factor() * m.Clip() / (float64(m.ShareSigma()) * m.Lattice().Step() * math.Sqrt(float64(cost.View.Shares)))
			squares += float64(p.Releases()) * mu * mu
			if math.Abs(cost.Mu*cost.Mu/squares-1) > 1e-5 {
				t.Errorf("%s, %s, %s: μ = %g, the formula gives %g", c.privacy, cost.View.Name, cost.Adjacency, cost.Mu, math.Sqrt(squares))
			}
		}
	}
}

// The noise multiplier of a pass may be given, and published factors pay for the
// scale in every one of their costs.
func TestScaleWithGivenNoise(t *testing.T) {
	roster := []ClientID{"a", "b", "c", "d"}
	privacy := "unit = \"client\"\nnoise_multiplier = 5\ndelta = 1e-3\nclip = 5"
	source := strings.NewReplacer("#privacy", privacy, "#standardise", "noise_multiplier = 8", "#inference", "factors = \"published\"").Replace(scaleSource)
	st, err := study.Parse("scales.toml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	if st, err = st.WithScale(st.PublicScale()); err != nil {
		t.Fatal(err)
	}
	p, err := NewProtocol(st, roster)
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Scaling().Mechanism(1).NoiseMultiplier(); s != 8 {
		t.Errorf("the noise multiplier of a pass is %g, want 8", s)
	}
	claimed, truth, sound, err := p.OutsideCosts(2)
	if err != nil {
		t.Fatal(err)
	}
	scale := 3.0 / 64
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"claimed", claimed.Mu, math.Sqrt(2.0/25 + scale)},
		{"true", truth.Mu, math.Hypot(PublishedMu(4, 2, 5, st.Inference.Damping.At), math.Sqrt(scale))},
		{"sound", sound.Mu, math.Sqrt(4 * (2.0/25 + scale))},
	} {
		if math.Abs(c.got/c.want-1) > 1e-6 {
			t.Errorf("the %s μ is %g, want %g", c.name, c.got, c.want)
		}
	}
}

// Two sites with the same noise and neighbouring records release sums that differ by
// what the records differ by: at most C for a record that is added (a client
// that counts or does not), twice that for one that is replaced, in integers, in
// every pass and on any bounds.
func TestScaleSensitivity(t *testing.T) {
	units := map[string]*study.Study{
		"record": scaleStudy(t, recordTarget, "rounds = 3", ""),
		"client": scaleStudy(t, clientTarget, "rounds = 3", ""),
	}
	value := rapid.OneOf(rapid.Float64Range(-100, 100), rapid.SampledFrom([]float64{-100, 100, 0, 1e-300, math.NaN(), math.Inf(1), -1e308}))
	for unit, st := range units {
		t.Run(unit, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				row := rapid.Custom(func(rt *rapid.T) []float64 {
					return []float64{value.Draw(rt, "x"), 1, value.Draw(rt, "y")}
				})
				with, without := new(shard.Records), new(shard.Records)
				records := rapid.SliceOfN(row, 1, 6).Draw(rt, "records")
				for i, r := range records {
					with.Append(r)
					if unit == "record" && i < len(records)-1 {
						without.Append(r) // all but the last
					}
				}
				replaced := rapid.SampledFrom([]bool{false, true}).Draw(rt, "replaced") || unit == "client"
				if replaced {
					without.Append(row.Draw(rt, "other"))
				}
				h := newScaleHouse(t, st, 1, with, without)
				for !h.server.Done() {
					plan, _ := h.server.Next()
					step := h.scaling.step(plan.Number)
					var releases [2]ScaleRelease
					for k, s := range h.sites {
						if err := s.Propose(&releases[k], &plan, seeded.Stream(7, "same", uint64(plan.Number))); err != nil {
							rt.Fatal(err)
						}
					}
					// The clip of the mechanism in steps, as it accounts for it.
					bound, _ := big.NewFloat(step.mechanism.Clip() / step.lattice.Step()).Int(nil)
					if replaced {
						bound.Lsh(bound, 1)
					}
					norm := new(big.Int)
					for i, n := range releases[0].Sum {
						d := big.NewInt(n - releases[1].Sum[i])
						norm.Add(norm, d.Mul(d, d))
					}
					if norm.Cmp(new(big.Int).Mul(bound, bound)) > 0 {
						rt.Fatalf("pass %d: neighbouring records move the sum by %v², more than %v", plan.Number, norm, bound)
					}
					var outcome *ScaleOutcome
					for k := range releases {
						var err error
						if outcome, err = h.server.Collect(&releases[k]); err != nil {
							rt.Fatal(err)
						}
					}
					h.settle(outcome)
				}
			})
		})
	}
}

// No record and no client reaches the mechanism's clip, so that it never bites: what
// is released is what the estimate takes it for. A record at a bound reaches it.
func TestScaleNeedsNoClipping(t *testing.T) {
	corner := []float64{100, 1, -100}
	for _, privacy := range []string{recordTarget, clientTarget} {
		st := scaleStudy(t, privacy, "rounds = 1", "")
		some, none := new(shard.Records), new(shard.Records)
		some.Append(corner)
		none.Append([]float64{0, 1, 0})
		h := newScaleHouse(t, st, 1, some, none)
		step := &h.scaling.moments
		for m, want := range [][]float64{{1, -1, 1, 1}, {0, 0, 0, 0}} {
			got := h.sites[m]
			got.row = make([]float64, step.size)
			row := got.contribution(0, step)[h.scaling.first():]
			for k, at := range []int{0, 2, 1, 3} { // x, x², y, y²
				if x := row[at]; math.Abs(x-want[k]) > 1e-15 {
					t.Errorf("element %d is %g, want %g", at, x, want[k])
				}
			}
		}
		got := h.sites[0].contribution(0, step)
		var norm float64
		for _, x := range got {
			norm = math.Hypot(norm, x)
		}
		if math.Abs(norm-step.mechanism.Clip()) > 1e-12 {
			t.Errorf("a record at its bounds has norm %g, the clip is %g", norm, step.mechanism.Clip())
		}
	}
}

// The noise in real messages is what the event states, in every pass, in every
// element, and new in every pass and client.
func TestScaleNoise(t *testing.T) {
	for _, c := range []struct {
		privacy, federation string
		shares              float64
	}{
		{recordTarget, "", 1},
		{clientTarget, "min_clients = 150\ncolluders = 50", 100},
	} {
		st := scaleStudy(t, c.privacy, "budget_share = 0.2", c.federation)
		clients := make([]*shard.Records, 200)
		for m := range clients {
			clients[m] = new(shard.Records)
			clients[m].Append([]float64{0, 1, 0})
		}
		h := newScaleHouse(t, st, 3, clients...)
		mu := accountant.GaussianMu(st.Privacy.Epsilon, st.Privacy.Delta) * math.Sqrt(0.2/3)
		for !h.server.Done() {
			plan, _ := h.server.Next()
			step := h.scaling.step(plan.Number)
			want := step.mechanism.Clip() / mu / math.Sqrt(c.shares) / step.lattice.Step()
			var squares, crossed float64
			var last *ScaleRelease
			draws := 0
			var outcome *ScaleOutcome
			exact := make([]float64, step.size)
			for m := range h.sites {
				r := h.propose(m, &plan)
				h.sites[m].row = make([]float64, step.size)
				copy(exact, h.sites[m].contribution(0, step))
				for i, n := range r.Sum {
					z := (float64(n) - math.Trunc(exact[i]/step.lattice.Step())) / want
					squares += z * z
					draws++
					if last != nil {
						crossed += z * (float64(last.Sum[i]) - math.Trunc(exact[i]/step.lattice.Step())) / want
					}
				}
				last = r
				var err error
				if outcome, err = h.server.Collect(r); err != nil {
					t.Fatal(err)
				}
			}
			h.settle(outcome)
			// Five standard errors.
			if n := float64(draws); math.Abs(squares/n-1) > 5*math.Sqrt(2/n) || math.Abs(crossed/n) > 5/math.Sqrt(n) {
				t.Errorf("%s, pass %d: the noise has %g times the variance that is paid for, and correlation %g between clients", c.privacy, plan.Number, squares/n, crossed/n)
			}
		}
	}
}

// A record that holds no number adds zero to every element, the count among them.
func TestScaleOfNoNumber(t *testing.T) {
	for _, privacy := range []string{recordTarget, `unit = "none"`} {
		good, bad := new(shard.Records), new(shard.Records)
		good.Append([]float64{50, 1, 3})
		bad.Append([]float64{50, 1, 3})
		bad.Append([]float64{math.NaN(), 1, 3})
		bad.Append([]float64{1, 1, math.NaN()})
		h := newScaleHouse(t, scaleStudy(t, privacy, "", ""), 1, good, bad)
		for !h.server.Done() {
			plan, _ := h.server.Next()
			var releases [2]ScaleRelease
			var outcome *ScaleOutcome
			for k, s := range h.sites {
				if err := s.Propose(&releases[k], &plan, seeded.Stream(7, "same")); err != nil {
					t.Fatal(err)
				}
				var err error
				if outcome, err = h.server.Collect(&releases[k]); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(releases[0].Sum, releases[1].Sum) {
				t.Errorf("%s, pass %d: records without a number count", privacy, plan.Number)
			}
			h.settle(outcome)
		}
	}
}

// What is taken for noise grows with the number of clients that add theirs: many
// clients with few records do not find what noise made up.
func TestScaleKnowsItsNoise(t *testing.T) {
	st := scaleStudy(t, recordTarget, "", "")
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		clients := make([]*shard.Records, 64)
		for m := range clients {
			clients[m] = spread(24, func() float64 { return 20 * r.NormFloat64() })
		}
		h := newScaleHouse(t, st, seed, clients...)
		h.play()
		for _, c := range h.server.Columns() {
			if c.Finding == Found || c.Bounds.Low > -40 || c.Bounds.High < 40 {
				t.Errorf("seed %d: found %+v in what is noise", seed, c)
			}
		}
	}
}

// A search of two columns over ten thousand records.
func BenchmarkScaleSearch(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const records = 10_000
	h := newScaleHouse(b, scaleStudy(b, recordTarget, "", ""), 1, spread(records, r.NormFloat64))
	plan, _ := h.server.Next()
	site := h.sites[0]
	for b.Loop() {
		site.answered = 0
		if err := site.Propose(new(ScaleRelease), &plan, seeded.Stream(1, "bench")); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
}
