package pvi

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/pvi/method"
	"fedpvi/pvi/method/gradientsum"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// NewProtocol chooses the right method for each kind of study.
func TestMethodOfStudy(t *testing.T) {
	plane := func(privacy, inference string) *Protocol { return protocolOf(t, 3, privacy, inference, "") }
	for want, p := range map[string]*Protocol{
		"*plain.Method":        plane(noPrivacy, ""),
		"*change.Method":       plane(clientPrivacy, ""),
		"change.published":     plane(clientPrivacy, `factors = "published"`),
		"*clientscores.Method": scoringHouse(t, 3, scoringPrivacy, "", "").protocol,
		"*statistics.Method":   plane(recordPrivacy, ""),
		"*parts.Method":        partsProtocol(t, "rounds = 1, partitions = 4", "epsilon = 1.0, clip = 3.0"),
		"*descent.Method":      descentProtocol(t),
		"descent.published":    fixedBatches(t, "published", "add-remove"),
		"*gradientsum.Method":  summedProtocol(t, 3, 3, ""),
		"*sites.Method":        propagationProtocol(t),
		"*tables.Method":       tablesProtocol(t),
	} {
		if got := fmt.Sprintf("%T", p.Method()); got != want {
			t.Errorf("the method is %s, want %s", got, want)
		}
	}
}

// tablesProtocol returns the protocol of a study that only asks for tables and therefore has no
// model.
func tablesProtocol(t testing.TB) *Protocol {
	t.Helper()
	return protocolFor(t, 3, `
study = { version = 2, name = "alone" }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
describe = { bins = 5 }
column = [{ name = "x", type = "numeric", bounds = [0, 10] }]
`)
}

func mechanismOf(p *Protocol) *dpmech.GaussianSum { return p.method.(method.Single).Mechanism() }

func steppedOf(p *Protocol) method.Stepped { return p.method.(method.Stepped) }

func stepsOf(p *Protocol) *method.Steps { return steppedOf(p).Steps() }

// summed reports whether each round opens a single sum of gradients.
func summed(p *Protocol) bool {
	_, ok := p.method.(*gradientsum.Method)
	return ok
}

// around calls with on the solver of client m, and gives the client a new site with the result.
func (h *house) around(m int, with func(solver.Solver) solver.Solver) *Site {
	h.t.Helper()
	h.sites[m] = siteAround(h.t, h.protocol, h.sites[m].id, h.shards[m], with)
	return h.sites[m]
}

func siteAround(t testing.TB, p *Protocol, id ClientID, s *shard.Shard, with func(solver.Solver) solver.Solver) *Site {
	t.Helper()
	refine, err := p.NewSolver(s)
	check(t, err)
	site, err := NewSolverSite(p, id, with(refine))
	check(t, err)
	return site
}

// memoryOf returns the state that a site's client would save. The slices are not copies.
func memoryOf(s *Site) (m method.Memory) {
	s.client.Save(&m)
	return m
}

func memoryIn(t testing.TB, state []byte) method.Memory {
	t.Helper()
	var v siteState
	check(t, json.Unmarshal(state, &v))
	return method.Memory{Factor: v.Factor, Proposed: v.Proposed, Spent: v.Spent, Solver: v.Solver, Parts: v.Parts}
}

type partsMemory struct {
	Of       []byte
	Factors  [][]Wide
	Proposed [][]int64
}

func (m *partsMemory) of(i int) uint16 { return binary.LittleEndian.Uint16(m.Of[2*i:]) }

func partsOf(t testing.TB, s *Site) *partsMemory {
	t.Helper()
	m := partsIn(t, memoryOf(s).Parts)
	return &m
}

func partsIn(t testing.TB, saved []byte) (m partsMemory) {
	t.Helper()
	check(t, json.Unmarshal(saved, &m))
	return m
}

type spentClient struct {
	method.Client
	releases int
}

func (c spentClient) Spent() method.Spent { return method.Spent{Statistics: c.releases} }

func sampledFor(p *Protocol, records int) (*dpmech.SampledSum, error) {
	some := new(shard.Records)
	for range records {
		some.Append(make([]float64, len(p.study.Columns)))
	}
	return p.method.(interface {
		For(*shard.Shard) (*dpmech.SampledSum, error)
	}).For(shard.Design(p.study, some))
}

func optionsOf(p *Protocol, records int) solver.DPSVIOptions {
	return p.method.(interface {
		Options(records int) solver.DPSVIOptions
	}).Options(records)
}
