package audit

import (
	"fmt"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// A federation is a tiny study whose privacy unit is the client. The observer sees the opened
// sums. It has one coefficient: a change has two elements.
type federation struct {
	name      string
	clients   int
	rounds    int
	adjacency accountant.Adjacency
	settings  []study.Override // overrides of the study
	protocol  *pvi.Protocol
	holders   []sim.Holder
}

// slopeStudy is the beginning of the smallest study with one slope.
const slopeStudy = `
[study]
version = 1
name = "audit"
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "y"
type = "numeric"
bounds = [-1, 1]
[model]
family = "linear"
outcome = "y"
terms = ["x"]
intercept = false
standardise = "none"
noise_sd = 1.0
`

// clientStudy has a prior that dwarfs the noise, so that q stays proper.
const clientStudy = slopeStudy + `
[prior]
sd = 0.02
[inference]
rounds = 1
damping = 0.3
[privacy]
unit = "client"
noise_multiplier = 4.0
delta = 1e-5
clip = 20
[federation]
max_records = 100
`

func newFederation(name string, clients, rounds int, adjacency accountant.Adjacency, settings ...study.Override) (*federation, error) {
	settings = append([]study.Override{
		{Key: "inference.rounds", Value: fmt.Sprint(rounds)},
		{Key: "privacy.adjacency", Value: fmt.Sprintf("%q", adjacency)},
	}, settings...)
	st, err := study.Parse("audit.toml", []byte(clientStudy), settings...)
	if err != nil {
		return nil, err
	}
	f := &federation{name: name, clients: clients, rounds: rounds, adjacency: adjacency, settings: settings}
	var roster []pvi.ClientID
	for m := range clients {
		records := new(shard.Records)
		for range 10 {
			records.Append([]float64{1, 0})
		}
		id := pvi.ClientID(fmt.Sprintf("client-%d", m+1))
		roster = append(roster, id)
		f.holders = append(f.holders, sim.Holder{ID: id, Records: records})
	}
	f.protocol, err = pvi.NewProtocol(st, roster)
	return f, err
}

// claim returns the study's cost of the opened sums.
func (f *federation) claim() accountant.Event {
	for _, v := range f.protocol.Views() {
		if v.Name == "outside" {
			return accountant.Repeated{Event: f.protocol.Method().(method.Single).Mechanism().EventFor(v.Shares, f.adjacency), Times: f.rounds}
		}
	}
	panic("audit: a study of clients has an outside view") // unreachable: Views returns this one
}

// attack plays the federation with a first client whose factor is far along the first coordinate
// in the other world. In the null world it is as far in the opposite direction, or zero, depending
// on the adjacency.
func (f *federation) attack() (attack, error) {
	far := 1e3 * f.protocol.Method().Noise().Clip
	null := 0.0
	if f.adjacency == accountant.ReplaceOne {
		null = -far
	}
	return attack{
		claim: newClaim(f.claim()),
		learn: linearOnly,
		observe: func(seed uint64, world, run int) ([]float64, error) {
			play, err := f.play(runSeed(seed, f.name, world, run), proposes{[2]float64{null, far}[world], 0}, nil)
			if err != nil {
				return nil, err
			}
			seen := make([]float64, 0, f.rounds)
			for {
				o, err := play.Step()
				if err != nil {
					return nil, err
				}
				if o == nil {
					return seen, nil
				}
				seen = append(seen, play.Protocol.Method().Noise().Lattice.Float(o.Sum[0]))
			}
		},
	}, nil
}

// play sets up the federation with given solvers: one for the first client, and one for each of
// the others unless it is nil.
func (f *federation) play(seed uint64, first, others solver.Solver) (*sim.Federation, error) {
	play, err := sim.New(f.protocol.Study(), f.holders, seed, 1)
	if err != nil {
		return nil, err
	}
	for m, s := range play.Sites {
		use := others
		if m == 0 {
			use = first
		}
		if use == nil {
			continue
		}
		if play.Sites[m], err = pvi.NewSolverSite(play.Protocol, s.ID(), use); err != nil {
			return nil, err
		}
	}
	return play, nil
}

// runSeed returns a seed for a run, independent of the seeds of other runs.
func runSeed(seed uint64, purpose string, world, run int) uint64 {
	return seeded.Stream(seed, purpose, uint64(world), uint64(run)).Uint64()
}

// proposes is a solver that returns the same factor for every q.
type proposes []float64

func (p proposes) Propose(dst []float64, _ solver.Problem, _ *dpmech.Stream) ([]accountant.Event, error) {
	copy(dst, p)
	return nil, nil
}

func (proposes) State() []byte { return nil }

func (proposes) Restore([]byte) error { return nil }
