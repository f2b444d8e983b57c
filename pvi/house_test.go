package pvi

import (
	"encoding"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// A house holds the server and all sites of a study.
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
	return lineStudy(t, linestudy.Parts{Privacy: privacy, Inference: "rounds = 6\n" + inference, Federation: federation})
}

func lineStudy(t testing.TB, parts linestudy.Parts, overrides ...study.Override) *study.Study {
	t.Helper()
	st, err := study.Parse("plane.toml", linestudy.Document(parts), overrides...)
	check(t, err)
	return st
}

// protocolFor returns the protocol of a study with the given source and number of clients.
func protocolFor(t testing.TB, clients int, source string, overrides ...study.Override) *Protocol {
	t.Helper()
	st, err := study.Parse("s.toml", []byte(source), overrides...)
	check(t, err)
	p, err := NewProtocol(st, rosterOf(clients))
	check(t, err)
	return p
}

func rosterOf(clients int) []ClientID {
	all := make([]ClientID, clients)
	for m := range all {
		all[m] = clientID(m)
	}
	return all
}

func clientID(m int) ClientID { return ClientID(fmt.Sprintf("c%02d", m)) }

// planeRecords draws n records for client m from a linear model whose slope depends on m.
func planeRecords(seed uint64, m, n int) *shard.Records {
	r := rand.New(rand.NewPCG(seed, uint64(m)))
	records := new(shard.Records)
	for range n {
		x := 2*r.Float64() - 1
		records.Append([]float64{x, min(max(1+(.5+.1*float64(m))*x+.5*r.NormFloat64(), -10), 10)})
	}
	return records
}

// newHouse returns the house of a study in which client m has 10+3m records.
func newHouse(t testing.TB, st *study.Study, clients int, seed uint64) *house {
	t.Helper()
	p, err := NewProtocol(st, rosterOf(clients))
	check(t, err)
	var shards []*shard.Shard
	for m := range clients {
		shards = append(shards, shard.Design(st, planeRecords(seed, m, 10+3*m)))
	}
	return houseOf(t, p, seed, shards...)
}

func houseOf(t testing.TB, p *Protocol, seed uint64, shards ...*shard.Shard) *house {
	t.Helper()
	h := &house{t: t, protocol: p, server: NewServer(p), sites: make([]*Site, len(shards)), shards: shards, seed: seed}
	for m := range shards {
		h.sites[m] = h.newSite(m)
	}
	return h
}

func (h *house) newSite(m int) *Site {
	h.t.Helper()
	site, err := h.protocol.NewSite(h.protocol.Roster()[m], h.shards[m])
	check(h.t, err)
	return site
}

// give replaces client m's site by a new one with the given records.
func (h *house) give(m int, records *shard.Records) {
	h.t.Helper()
	h.shards[m] = shard.Design(h.protocol.study, records)
	h.sites[m] = h.newSite(m)
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

// answered lets the clients of the plan answer, and returns the outcome without delivering it to
// the sites.
func (h *house) answered(plan *Plan) (o *Outcome) {
	h.t.Helper()
	for m, s := range h.sites {
		if !slices.Contains(plan.Participants, s.ID()) {
			continue
		}
		var err error
		o, err = h.server.Collect(h.propose(m, plan))
		check(h.t, err)
	}
	return o
}

func (h *house) run() {
	h.t.Helper()
	for plan, ok := h.server.Next(); ok; plan, ok = h.server.Next() {
		h.settle(h.answered(&plan))
	}
}

// pooled returns the exact posterior of all records together, with the natural parameters in the
// order of a full family.
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

func saved(t testing.TB, m encoding.BinaryMarshaler) []byte {
	t.Helper()
	b, err := m.MarshalBinary()
	check(t, err)
	return b
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
