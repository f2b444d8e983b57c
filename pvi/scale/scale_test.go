package scale

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/scalestudy"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

func spread(n int, draw func() float64) *shard.Records {
	records := new(shard.Records)
	for range n {
		records.Append([]float64{min(max(draw(), -100), 100), 1, min(max(draw(), -100), 100)})
	}
	return records
}

type scaleHouse struct {
	t       testing.TB
	scaling *Scaling
	server  *Server
	sites   []*Site
	seed    uint64
}

func newScaleHouse(t testing.TB, st *study.Study, seed uint64, clients ...*shard.Records) *scaleHouse {
	t.Helper()
	roster := rosterOf(len(clients))
	scaling, err := New(st, roster)
	check(t, err)
	h := &scaleHouse{t: t, scaling: scaling, server: NewServer(scaling), seed: seed}
	for m, records := range clients {
		site, err := NewSite(scaling, roster[m], records)
		check(t, err)
		h.sites = append(h.sites, site)
	}
	return h
}

func (h *scaleHouse) propose(m int, plan *Plan) *Release {
	h.t.Helper()
	r := new(Release)
	check(h.t, h.sites[m].Propose(r, plan, seeded.Stream(h.seed, "scale", uint64(m), uint64(plan.Number))))
	return r
}

// answers returns all clients' releases for the plan, and the outcome, which the sites do not get.
func (h *scaleHouse) answers(plan *Plan, noise func(m int) *dpmech.Stream) (releases []*Release, o *Outcome) {
	h.t.Helper()
	for m, s := range h.sites {
		r := new(Release)
		check(h.t, s.Propose(r, plan, noise(m)))
		var err error
		o, err = h.server.Collect(r)
		check(h.t, err)
		releases = append(releases, r)
	}
	return releases, o
}

// restored returns a copy of site m that is restored from its state.
func (h *scaleHouse) restored(m int, records *shard.Records) *Site {
	h.t.Helper()
	state, err := h.sites[m].MarshalBinary()
	check(h.t, err)
	site, err := NewSite(h.scaling, h.sites[m].ID(), records)
	check(h.t, err)
	check(h.t, site.Restore(state))
	return site
}

func (h *scaleHouse) settle(o *Outcome) {
	h.t.Helper()
	for _, s := range h.sites {
		check(h.t, s.Settle(o))
	}
}

// pass runs one pass in which the given clients answer, by default all.
func (h *scaleHouse) pass(answering ...int) *Outcome {
	h.t.Helper()
	plan, ok := h.server.Next()
	if !ok {
		h.t.Fatal("there is no plan")
	}
	var outcome *Outcome
	for m := range h.sites {
		if len(answering) > 0 && !slices.Contains(answering, m) {
			continue
		}
		var err error
		outcome, err = h.server.Collect(h.propose(m, &plan))
		check(h.t, err)
	}
	if outcome == nil {
		var err error
		outcome, err = h.server.Close()
		check(h.t, err)
	}
	h.settle(outcome)
	return outcome
}

func (h *scaleHouse) play() *study.Study {
	h.t.Helper()
	for !h.server.Done() {
		h.pass()
	}
	st, err := h.server.Scaled()
	check(h.t, err)
	for _, s := range h.sites {
		own, err := s.Scaled()
		if err != nil || !slices.Equal(own.Scales(), st.Scales()) {
			h.t.Fatalf("client %s has another scale than the server: %v", s.ID(), err)
		}
	}
	return st
}

// A mean is off by at most five sds of noise and sampling error, plus 2 % of the column's sd
// because values are clamped, and a variance likewise, with 5 %.
func TestScaleIsFound(t *testing.T) {
	for _, epsilon := range []float64{0.5, 1, 4} {
		for _, n := range []int{3000, 8000} {
			for _, sd := range []float64{0.3, 1, 20} {
				r := rand.New(rand.NewPCG(1, uint64(n)))
				const mean = 5
				draw := func() float64 { return mean + sd*r.NormFloat64() }
				st := scalestudy.Parse(t, fmt.Sprintf("unit = \"record\"\nepsilon = %g\ndelta = 1e-7", epsilon), "budget_share = 0.2", "")
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
					// The bounds always contain the mean ± 2.3 sds, so at most one value in fifty
					// is clamped.
					if c.Bounds.Low > mean-2.3*sd || c.Bounds.High < mean+2.3*sd {
						t.Errorf("%s: the bounds cut the records", what)
					}
					// The bounds are no wider than four sds and the noise require.
					if reach := 4*math.Sqrt(sd*sd+8*doubt) + 8*noise; c.Bounds.High > min(100, mean+1.2*reach) {
						t.Errorf("%s: the bounds are wider than need be, want reach %g", what, reach)
					}
				}
			}
		}
	}
}

// A record with a value that is not finite adds zero to every element, including the count.
func TestScaleOfNoNumber(t *testing.T) {
	for _, privacy := range []string{scalestudy.Record, `unit = "none"`} {
		good, bad := new(shard.Records), new(shard.Records)
		good.Append([]float64{50, 1, 3})
		bad.Append([]float64{50, 1, 3})
		bad.Append([]float64{math.NaN(), 1, 3})
		bad.Append([]float64{1, 1, math.NaN()})
		h := newScaleHouse(t, scalestudy.Parse(t, privacy, "", ""), 1, good, bad)
		for !h.server.Done() {
			plan, _ := h.server.Next()
			releases, outcome := h.answers(&plan, func(int) *dpmech.Stream { return seeded.Stream(7, "same") })
			if !slices.Equal(releases[0].Sum, releases[1].Sum) {
				t.Errorf("%s, pass %d: records without a number count", privacy, plan.Number)
			}
			h.settle(outcome)
		}
	}
}

// A Scaling counts the noise of all clients. Otherwise many clients with few records would find a
// scale in noise.
func TestScaleKnowsItsNoise(t *testing.T) {
	st := scalestudy.Parse(t, scalestudy.Record, "", "")
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
				t.Errorf("seed %d: found %+v in noise alone", seed, c)
			}
		}
	}
}

func BenchmarkScaleSearch(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const records = 10_000
	h := newScaleHouse(b, scalestudy.Parse(b, scalestudy.Record, "", ""), 1, spread(records, r.NormFloat64))
	plan, _ := h.server.Next()
	site := h.sites[0]
	for b.Loop() {
		site.answered = 0
		check(b, site.Propose(new(Release), &plan, seeded.Stream(1, "bench")))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
}

func rosterOf(clients int) []phase.ClientID {
	roster := make([]phase.ClientID, clients)
	for m := range roster {
		roster[m] = clientID(m)
	}
	return roster
}

func clientID(m int) phase.ClientID { return phase.ClientID(fmt.Sprintf("c%02d", m)) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
