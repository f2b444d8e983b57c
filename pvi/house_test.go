package pvi

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// A house is a whole federation for tests: it holds the server and all sites of a study in one
// process.
type house struct {
	t        testing.TB
	protocol *Protocol
	server   *Server
	sites    []*Site
	shards   []*shard.Shard
	seed     uint64
}

// These are privacy settings for planeStudy.
const (
	noPrivacy     = linestudy.NoPrivacy
	recordPrivacy = "unit = \"record\"\nnoise_multiplier = 0.5\ndelta = 1e-5"
	clientPrivacy = "unit = \"client\"\nnoise_multiplier = 0.05\ndelta = 1e-5\nclip = 60"
)

func planeStudy(t testing.TB, privacy, inference, federation string) *study.Study {
	t.Helper()
	st, err := study.Parse("plane.toml", linestudy.Document(linestudy.Parts{Privacy: privacy, Inference: "rounds = 6\n" + inference, Federation: federation}))
	check(t, err)
	return st
}

func clientID(m int) ClientID { return ClientID(fmt.Sprintf("c%02d", m)) }

// planeRecords draws n records for client m from a linear model. Each client has a different slope.
func planeRecords(seed uint64, m, n int) *shard.Records {
	r := rand.New(rand.NewPCG(seed, uint64(m)))
	records := new(shard.Records)
	for range n {
		x := 2*r.Float64() - 1
		records.Append([]float64{x, min(max(1+(.5+.1*float64(m))*x+.5*r.NormFloat64(), -10), 10)})
	}
	return records
}

func newHouse(t testing.TB, st *study.Study, clients int, seed uint64) *house {
	t.Helper()
	roster := make([]ClientID, clients)
	for m := range roster {
		roster[m] = clientID(m)
	}
	p, err := NewProtocol(st, roster)
	check(t, err)
	h := &house{t: t, protocol: p, server: NewServer(p), seed: seed}
	for m, id := range roster {
		h.shards = append(h.shards, shard.Design(st, planeRecords(seed, m, 10+3*m)))
		h.sites = append(h.sites, h.newSite(id, m))
	}
	return h
}

func (h *house) newSite(id ClientID, m int) *Site {
	h.t.Helper()
	site, err := h.protocol.NewSite(id, h.shards[m])
	check(h.t, err)
	return site
}

func (h *house) propose(m int, plan *Plan) *Release {
	h.t.Helper()
	r := new(Release)
	check(h.t, h.sites[m].Propose(r, plan, seeded.Stream(h.seed, "noise", uint64(m), uint64(plan.Number))))
	return r
}

func (h *house) settle(o *Outcome) {
	h.t.Helper()
	for _, s := range h.sites {
		check(h.t, s.Settle(o))
	}
}

func (h *house) run() {
	h.t.Helper()
	for {
		plan, ok := h.server.Next()
		if !ok {
			return
		}
		for m, s := range h.sites {
			for _, id := range plan.Participants {
				if id != s.ID() {
					continue
				}
				o, err := h.server.Collect(h.propose(m, &plan))
				check(h.t, err)
				if o != nil {
					h.settle(o)
				}
			}
		}
	}
}

// pooled returns the exact posterior given all records, in the layout of a full family.
func (h *house) pooled() []float64 {
	model := h.protocol.Model().Linear()
	sum := make([]float64, model.StatisticsSize())
	for j, name := range model.Names() {
		prior := h.protocol.study.Prior.For(name)
		sum[j] = prior.Mean / (prior.SD * prior.SD)
		sum[model.Dim()+j*(j+3)/2] = 1 / (prior.SD * prior.SD)
	}
	for _, s := range h.shards {
		for i := range s.Len() {
			x, y := s.Record(i)
			model.AddStatistics(sum, x, y)
		}
	}
	return sum
}

func relativeGap(got, want []float64) float64 {
	var gap float64
	for i := range want {
		gap = math.Max(gap, math.Abs(got[i]-want[i])/math.Max(1e-3, math.Abs(want[i])))
	}
	return gap
}

func check(t interface {
	Helper()
	Fatal(...any)
}, err error,
) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
