package pvi

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

func set(key, value string) study.Override { return study.Override{Key: key, Value: value} }

// The gradients of a record at K draws of θ form one vector. Its length and its clipping bound grow
// with K.
func TestDescentOfSeveralDraws(t *testing.T) {
	one := descentProtocol(t)
	for _, c := range []struct {
		gradients string
		draws     int
		size      int
		longer    float64 // norm of the record's vector, relative to that of one gradient
	}{
		{"aligned", 4, 8, 2},
		{"joint", 1, 4, 1},
		{"joint", 4, 16, 2},
		{"preconditioned", 1, 4, math.Sqrt2},
		{"preconditioned", 2, 8, 2},
	} {
		p := descentProtocol(t, set("inference.gradients", `"`+c.gradients+`"`), set("inference.draws", string(rune('0'+c.draws))))
		if steppedOf(p).Sampled().Dim() != c.size {
			t.Errorf("%s, %d draws: a record has %d numbers, want %d", c.gradients, c.draws, steppedOf(p).Sampled().Dim(), c.size)
		}
		if got := p.method.Noise().Clip / one.method.Noise().Clip; math.Abs(got-c.longer) > 1e-12 {
			t.Errorf("%s, %d draws: the clip is %g times the clip of one gradient, want %g", c.gradients, c.draws, got, c.longer)
		}
		if a, b := p.method.Noise().Multiplier, one.method.Noise().Multiplier; math.Abs(a/b-1) > 1e-3 {
			t.Errorf("%s, %d draws: the noise multiplier is %g, for one draw %g", c.gradients, c.draws, a, b)
		}
	}
}

// fixedBatches returns a protocol with 1000 records, batches of 10, σ = 1 and 1000 steps.
func fixedBatches(t *testing.T, sampling, adjacency string, more ...study.Override) *Protocol {
	t.Helper()
	return descentProtocol(t, append([]study.Override{
		set("inference", `{ rounds = 100, steps = 10, sampling = "`+sampling+`", sampling_rate = 0.01, step_size = 0.01 }`),
		set("federation", "{ nominal_records = 1000, max_records = 1000 }"),
		set("privacy", `{ unit = "record", noise_multiplier = 1.0, delta = 1e-5, adjacency = "`+adjacency+`" }`),
	}, more...)...)
}

// For the study of fixedBatches, the published sampling claims ε = 1.83 under add-remove and 2.84
// under replace-one. The true ε is at least 13.4.
func TestPublishedSamplingCostsMoreThanItClaims(t *testing.T) {
	for _, c := range []struct {
		adjacency      string
		claimed, least float64
	}{
		{"add-remove", 1.83, 13.4},
		{"replace-one", 2.84, 13.4},
	} {
		p := fixedBatches(t, "published", c.adjacency)
		claimed, truth, sound, err := p.OutsideCosts(p.Releases())
		check(t, err)
		t.Logf("%s: claims ε = %.4g, costs from %.4g to %.4g", c.adjacency, claimed.Epsilon, truth.Epsilon, sound.Epsilon)
		if p.Sound() || p.Published() != method.PublishedSampling {
			t.Errorf("%s: the study counts as sound", c.adjacency)
		}
		if math.Abs(claimed.Epsilon-c.claimed) > 0.01 || truth.Epsilon < c.least-0.05 || sound.Epsilon < truth.Epsilon {
			t.Errorf("%s: claims ε = %.4g, costs from %.4g to %.4g, want %g and at least %g", c.adjacency, claimed.Epsilon, truth.Epsilon, sound.Epsilon, c.claimed, c.least)
		}
		cost, err := p.Cost(p.Views()[0], p.Adjacencies()[0], p.Releases())
		if err != nil || cost != sound {
			t.Errorf("%s: the site spent %+v, the proved cost is %+v (error %v)", c.adjacency, cost, sound, err)
		}
	}
}

// Under add-remove adjacency the number of records is private. With the published sampling, neither
// the batch size nor the divisor of sums may therefore depend on it. A client with fewer than
// federation.nominal_records is refused.
func TestPublishedSamplingDoesNotDependOnTheNumberOfRecords(t *testing.T) {
	p := fixedBatches(t, "published", "add-remove", set("federation", "{ nominal_records = 1000, max_records = 5000 }"))
	for _, n := range []int{1000, 1001, 1999, 5000} {
		m, err := sampledFor(p, n)
		check(t, err)
		if m.MaxBatch() != 10 || optionsOf(p, n) != optionsOf(p, 1000) || optionsOf(p, n).Rate != 0.01 {
			t.Errorf("%d records: batches of %d, %+v", n, m.MaxBatch(), optionsOf(p, n))
		}
	}
	if a := p.Adjacencies(); !slices.Equal(a, []accountant.Adjacency{accountant.AddRemove, accountant.ReplaceOne}) {
		t.Errorf("costs are stated under %v", a)
	}
	if _, err := p.NewSite(clientID(0), descentShard(p, 999)); err == nil || !strings.Contains(err.Error(), "fewer records than federation.nominal_records = 1000") {
		t.Errorf("a client with 999 records of 1000: %v", err)
	}
	if _, err := p.NewSite(clientID(0), descentShard(p, 1000)); err != nil {
		t.Error(err)
	}
}

func TestSamplingWithoutReplacement(t *testing.T) {
	p := fixedBatches(t, "without-replacement", "replace-one")
	cost, err := p.Cost(p.Views()[0], accountant.ReplaceOne, p.Releases())
	check(t, err)
	want := account(t, accountant.Repeated{Event: accountant.WithoutReplacement{Rate: 0.01, Sigma: 1, Adjacency: accountant.ReplaceOne}, Times: 1000})
	if a := p.Adjacencies(); !slices.Equal(a, []accountant.Adjacency{accountant.ReplaceOne}) {
		t.Errorf("a cost is stated under %v, and the number of records is public", a)
	}
	claimed, truth, sound, err := p.OutsideCosts(p.Releases())
	if err != nil || !p.Sound() || claimed != truth || truth != sound || sound != cost {
		t.Errorf("costs %+v, %+v, %+v and %+v are not one (%v)", claimed, truth, sound, cost, err)
	}
	if math.Abs(cost.Epsilon/want-1) > 1e-4 || cost.Epsilon < want*(1-1e-5) {
		t.Errorf("ε = %.8g, by the sampling %.8g", cost.Epsilon, want)
	}
	// The cost is computed for the nominal number of records, although a batch of ten is a smaller
	// part of 1,099 records than of 1000.
	wider := fixedBatches(t, "without-replacement", "replace-one", set("federation", "{ nominal_records = 1000, max_records = 1099 }"))
	if more, err := wider.Cost(wider.Views()[0], accountant.ReplaceOne, wider.Releases()); err != nil || more.Epsilon != cost.Epsilon {
		t.Errorf("ε = %.8g with more records at most, want %.8g (%v)", more.Epsilon, cost.Epsilon, err)
	}
	// The cost was computed for batches of 1/100 of the records, so no client's batches are a larger
	// part.
	for _, n := range []int{0, 1, 7, 99, 100, 101, 999, 1000} {
		m, err := sampledFor(p, n)
		check(t, err)
		if m.MaxBatch()*100 > n || m.MaxBatch() != n/100 {
			t.Errorf("%d records: batches of %d", n, m.MaxBatch())
		}
		if m.Lattice() != steppedOf(p).Sampled().Lattice() || m.ShareSigma() != steppedOf(p).Sampled().ShareSigma() {
			t.Errorf("%d records: another noise than for those stated", n)
		}
	}
}

const startStudy = `
study = { version = 1, name = "start" }
model = { family = "linear", outcome = "y", noise_sd = 0.25, terms = ["x"], standardise = "none" }
inference = { rounds = 4, steps = 5, solver = "dp-svi", start = "analytical", start_share = 0.4 }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
federation = { max_records = 5000 }
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "y"
type = "numeric"
bounds = [0, 1]
`

func startProtocol(t *testing.T, overrides ...study.Override) *Protocol {
	t.Helper()
	return protocolFor(t, 2, startStudy, overrides...)
}

// The starting statistics and the steps share the study's ε.
func TestStartAndStepsMeetOneTarget(t *testing.T) {
	for _, rate := range []string{"1.0", "0.1"} {
		p := startProtocol(t, set("inference.sampling_rate", rate))
		for rounds, want := range []int{0, 6, 11, 16, 21, 21} {
			if got := p.ReleasesAfter(rounds); got != want {
				t.Errorf("%d releases after %d rounds, want %d", got, rounds, want)
			}
		}
		cost, err := p.Cost(p.Views()[0], accountant.AddRemove, p.Releases())
		check(t, err)
		if cost.Epsilon > 1 || cost.Epsilon < 0.998 {
			t.Errorf("rate %s: ε = %g", rate, cost.Epsilon)
		}
		statistics, _ := steppedOf(p).Start()
		sigma, start := p.method.Noise().Multiplier, 1/statistics.NoiseMultiplier()
		if rate == "1.0" {
			steps := math.Sqrt(20) / sigma
			if want := accountant.GaussianEpsilon(math.Hypot(start, steps), 1e-5); math.Abs(cost.Epsilon/want-1) > 1e-4 {
				t.Errorf("ε = %.8g, by the formula %.8g", cost.Epsilon, want)
			}
			if share := start * start / (start*start + steps*steps); math.Abs(share-0.4) > 1e-9 {
				t.Errorf("the start takes %g of μ², want 0.4", share)
			}
		}
		want := account(t, accountant.Gaussian{Sensitivity: 1, Sigma: 1 / start, Adjacency: accountant.AddRemove})
		first, err := p.Cost(p.Views()[0], accountant.AddRemove, 1)
		if err != nil || math.Abs(first.Epsilon/want-1) > 1e-4 {
			t.Errorf("rate %s: the first release costs ε = %g, the statistics %g (%v)", rate, first.Epsilon, want, err)
		}
		if none, err := p.Cost(p.Views()[0], accountant.AddRemove, 0); err != nil || none.Epsilon != 0 {
			t.Errorf("rate %s: no release costs ε = %g (%v)", rate, none.Epsilon, err)
		}
	}
}

// A restored site that has already released its statistics does not release them again.
func TestStartIsReleasedOnce(t *testing.T) {
	p := startProtocol(t)
	if h := sameAfterRestarts(t, p, 1, descentShard(p, 80), descentShard(p, 0)); h.sites[0].Releases() != 1+4*5 {
		t.Errorf("%d releases charged, want 21", h.sites[0].Releases())
	}
}
