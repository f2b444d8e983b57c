package pvi

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/method"
	"fedpvi/pvi/method/sites"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

func propagationProtocol(t *testing.T, overrides ...study.Override) *Protocol {
	t.Helper()
	return protocolFor(t, 2, propagationStudy, overrides...)
}

var propagationStudy = strings.NewReplacer("logistic", "probit", "rounds = 5, steps = 3", `rounds = 2, steps = 8, solver = "dp-sep"`).Replace(descentStudy)

var (
	// The tests give the noise multiplier, because computing it from a privacy target would take
	// seconds.
	allocated = []study.Override{set("inference.sampling", `"random-allocation"`), set("inference.sampling_rate", "0.25"), set("privacy.epsilon", ""), set("privacy.noise_multiplier", "3.0")}
	published = []study.Override{
		set("inference.sampling", `"published"`), set("privacy.adjacency", `"replace-one"`), set("federation.nominal_records", "40"),
		set("privacy.clip", "1.0"), set("inference.steps", "80"),
	}
)

// All steps of all rounds together stay within the privacy target.
func TestPropagationMeetsItsTarget(t *testing.T) {
	for _, overrides := range [][]study.Override{
		nil,
		{set("inference.sampling_rate", "0.2")},
		{set("inference.q", `"full"`)},
		{set("inference.noise_aware", `"one-step"`), set("federation.nominal_records", "500")},
	} {
		p := propagationProtocol(t, overrides...)
		cost, err := p.Cost(p.Views()[0], accountant.AddRemove, p.Releases())
		check(t, err)
		if cost.Epsilon > 1 || cost.Epsilon < 0.999 {
			t.Errorf("%v: all releases cost ε = %g, want 1", overrides, cost.Epsilon)
		}
		if own := account(t, steppedOf(p).Sampled().Event()); len(p.After()) == 0 && math.Abs(own/cost.Epsilon-1) > 1e-3 {
			t.Errorf("%v: ε = %g from the mechanism, but %g from the study", overrides, own, cost.Epsilon)
		}
	}
}

// With random allocation, the first step of an epoch is charged the cost of the whole epoch.
func TestPropagationPaysForEpochs(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic of one thread: without -short")
	}
	p := propagationProtocol(t, allocated...)
	epochs := func(n int) float64 {
		return account(t, accountant.Repeated{Event: accountant.RandomAllocation{Steps: 4, Picks: 1, Sigma: 3, Adjacency: accountant.AddRemove}, Times: n})
	}
	for releases, n := range map[int]int{1: 1, 5: 2} {
		cost, err := p.Cost(p.Views()[0], accountant.AddRemove, releases)
		check(t, err)
		if want := epochs(n); math.Abs(cost.Epsilon/want-1) > 1e-3 || cost.Epsilon < want*(1-1e-6) {
			t.Errorf("%d releases cost ε = %g, %d epochs %g", releases, cost.Epsilon, n, want)
		}
	}
	if got := p.Adjacencies(); len(got) != 1 {
		t.Errorf("random allocation has a cost under %v", got)
	}
}

// The published algorithm claims the cost of steps that draw each record independently, although it
// passes over permuted records. The cost that can be proved for such passes is far larger.
func TestPublishedPropagationIsNotPrivateAsClaimed(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic of one thread: without -short")
	}
	p := propagationProtocol(t, published...)
	if p.Sound() || p.Published() != method.PublishedSampling {
		t.Fatal("the published form counts as sound")
	}
	claimed, truth, sound, err := p.OutsideCosts(p.Releases())
	check(t, err)
	passes := float64(p.Releases()) / 40
	mu := 2 * math.Sqrt(passes) / steppedOf(p).Sampled().NoiseMultiplier()
	want := accountant.GaussianEpsilon(mu, 1e-5)
	if claimed.Epsilon > 1 || math.Abs(sound.Epsilon/want-1) > 1e-3 || sound.Epsilon < 5 {
		t.Errorf("claimed ε = %g, provable %g, by hand %g", claimed.Epsilon, sound.Epsilon, want)
	}
	if truth.Epsilon > sound.Epsilon*(1+1e-6) || !strings.Contains(truth.Method, "permutation") {
		t.Errorf("the cost without credit for the order is %g by %q", truth.Epsilon, truth.Method)
	}
	for _, n := range []int{39, 41} {
		if _, err := p.NewSolver(descentShard(p, n)); err == nil {
			t.Errorf("%d records were taken for 40", n)
		}
	}
	s, err := p.NewSite(clientID(0), descentShard(p, 40))
	check(t, err)
	server, r := NewServer(p), new(Release)
	plan, _ := server.Next()
	check(t, s.Propose(r, &plan, seeded.Stream(1, "noise")))
	if s.Releases() != 80 {
		t.Errorf("%d sums were charged, want 80", s.Releases())
	}
}

// If the likelihood is normal and there is hardly any noise, the posterior is exact for every
// schedule.
func TestPropagationFindsThePosterior(t *testing.T) {
	for _, schedule := range []string{"synchronous", "sequential", "asynchronous"} {
		for _, extra := range []string{"", "\nimproper = \"reject\""} {
			st := planeStudy(t, "unit = \"record\"\nnoise_multiplier = 1e-3\ndelta = 1e-5\nclip = 40",
				"solver = \"dp-sep\"\nq = \"full\"\nschedule = \""+schedule+"\""+extra, "nominal_records = 12")
			h := newHouse(t, st, 3, 1)
			h.run()
			got := h.server.Posterior()
			for i, x := range h.pooled() {
				if math.Abs(got[i]-x) > 0.01*(1+math.Abs(x)) {
					t.Errorf("%s%s: natural parameter %d is %g, of the posterior %g", schedule, extra, i, got[i], x)
				}
			}
		}
	}
}

// A client's number of records affects nothing but its batches.
func TestPropagationDoesNotDependOnTheNumberOfRecords(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic of one thread: without -short")
	}
	for _, overrides := range [][]study.Override{nil, allocated} {
		p := propagationProtocol(t, overrides...)
		most := steppedOf(p).Sampled()
		for _, n := range []int{0, 1, 100, 5000} {
			m, err := sampledFor(p, n)
			check(t, err)
			if m.Lattice() != most.Lattice() || m.ShareSigma() != most.ShareSigma() || m.Clip() != most.Clip() || fmt.Sprintf("%#v", m.Event()) != fmt.Sprintf("%#v", most.Event()) {
				t.Errorf("%v, %d records: another mechanism than for the most", overrides, n)
			}
		}
	}
}

// Restore refuses a state whose charged releases do not match the solver's steps.
func TestPropagationSiteRestored(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic of one thread: without -short")
	}
	p := propagationProtocol(t, allocated...)
	h := sameAfterRestarts(t, p, 1, descentShard(p, 60), descentShard(p, 60))
	if h.sites[0].Releases() != 16 {
		t.Errorf("%d sums charged", h.sites[0].Releases())
	}
	h.refusesStates(map[string]func(v *siteState){
		"16 sums were released and 8 charged": func(v *siteState) { v.Spent.Statistics = 8 },
	})
}

func TestPropagationIsDerived(t *testing.T) {
	p := propagationProtocol(t, set("inference.steps", ""))
	if d := stepsOf(p); d.Total != 2*20 || d.Rate != 1 || d.Clip != 0.7*p.model.TypicalGradient() {
		t.Errorf("derived %+v", d)
	}
	p = propagationProtocol(t, append([]study.Override{set("inference.steps", "")}, allocated...)...)
	if d := stepsOf(p); d.Epoch != 4 || d.Round%4 != 0 || d.Total != 4*2*20 {
		t.Errorf("derived %+v", d)
	}
	// If q has a full covariance, the overlap is 1 and the default number of steps is smaller.
	p = propagationProtocol(t, set("inference.steps", ""), set("inference.q", `"full"`))
	if d := stepsOf(p); d.Total != 20 || p.method.(*sites.Method).Overlap() != 1 {
		t.Errorf("derived %+v with a full covariance", d)
	}
	refused := func(say string, overrides ...study.Override) {
		t.Helper()
		st, err := study.Parse("s.toml", []byte(propagationStudy), overrides...)
		check(t, err)
		if _, err := NewProtocol(st, rosterOf(2)); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("want an error that contains %q, got %v", say, err)
		}
	}
	refused("whole number of epochs", set("inference.sampling", `"random-allocation"`), set("inference.sampling_rate", "0.3"))
	refused("not a parameter of the model: write some of intercept, x", set("inference.start_at.slope", "1.0"))
	refused("lower inference.rounds", set("inference.rounds", "1000000"), set("inference.steps", "1000000"))
	if p := propagationProtocol(t, set("inference.start_at.x", "1.5"), set("inference.start_at.intercept", "-1.0")); true {
		o := p.method.(*sites.Method).Options()
		if len(o.StartMean) != 2 || o.StartMean[0] != -1 || o.StartMean[1] != 1.5 {
			t.Errorf("the start is %v", o.StartMean)
		}
	}
}

// If the start is drawn from the prior, all machines draw the same one, but another roster leads to
// another start.
func TestDrawnStartIsPublic(t *testing.T) {
	a, b := propagationProtocol(t, set("inference.start", `"draw"`)), propagationProtocol(t, set("inference.start", `"draw"`))
	other, err := NewProtocol(a.study, []ClientID{"a", "c"})
	check(t, err)
	start := func(p *Protocol) []float64 { return p.method.(*sites.Method).Options().StartMean }
	x, y, z := start(a), start(b), start(other)
	if x[0] != y[0] || x[1] != y[1] || x[0] == z[0] || x[0] == x[1] {
		t.Errorf("draws %v, %v and %v", x, y, z)
	}
}

// Without records, a client's precision is pure noise with mean 0. Values below the standard
// deviation of that noise are raised to it, so that 15.9 % stay above. With 800 draws, a correct
// program is off by 5 standard errors in 6 of 10^7 cases.
func TestSiteNoiseIsThatOfTheAverage(t *testing.T) {
	p := propagationProtocol(t, set("federation.max_records", "10"))
	const runs, share, most = 400, 0.158655, 0.065
	refine, err := p.NewSolver(shard.Design(p.study, new(shard.Records)))
	check(t, err)
	above, o := 0, p.method.(*sites.Method).Options()
	sd := o.PrecisionNoise * math.Sqrt(o.NoiseLeft(stepsOf(p).Total))
	for run := range runs {
		check(t, refine.Restore(nil))
		dst := make([]float64, p.family.Size())
		for visit := range 2 {
			_, err := refine.Propose(dst, problemOf(p), seeded.Stream(uint64(run), "noise", uint64(visit)))
			check(t, err)
		}
		for _, x := range dst[p.family.Dim():] {
			if x < sd*(1-1e-9) {
				t.Fatalf("a precision of %g is below its noise %g", x, sd)
			}
			if x > sd*(1+1e-9) {
				above++
			}
		}
	}
	if got := float64(above) / (2 * runs); math.Abs(got-share) > most {
		t.Errorf("%.1f %% of precisions are above the sd that the study states, want %.1f %%", 100*got, 100*share)
	}
}

// problemOf returns the problem that a client's solver has to solve in the first round.
func problemOf(p *Protocol) solver.Problem {
	mean := make([]float64, p.family.Dim())
	if err := p.family.Mean(mean, p.Prior()); err != nil {
		panic(err)
	}
	return solver.Problem{Family: p.family, Mean: mean, Natural: p.Prior(), Cavity: p.Prior(), Weight: 1}
}
