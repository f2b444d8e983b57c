package audit

import (
	"context"
	"fmt"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/sim"
)

// A federation is a test case: a small study whose privacy unit is the client, and an observer who
// sees the opened sums.
type federation struct {
	name      string
	adjacency accountant.Adjacency
	protocol  *pvi.Protocol
	insider   bool // whether the observer is the last client, which subtracts its own message from the opened sum
}

const (
	federationClients = 4
	federationRounds  = 12
)

// clientStudy is the study document of a [federation]. The precision of its prior is far above the
// noise, so that q stays proper.
const clientStudy = slopeStudy + `[prior]
sd = 0.02
[inference]
damping = 0.3
[privacy]
unit = "client"
noise_multiplier = 4.0
delta = 1e-5
clip = 20
[federation]
max_records = 100
`

func newFederation(factors, coordinates string, adjacency accountant.Adjacency) (*federation, error) {
	p, err := newProtocol(clientStudy, federationClients, set("inference.rounds", federationRounds), set("privacy.adjacency", adjacency),
		set("inference.factors", factors), set("privacy.coordinates", coordinates))
	return &federation{fmt.Sprintf("clients, %s factors, %s", factors, adjacency), adjacency, p, false}, err
}

// insiders is the number of clients in a study that one of its own clients observes.
const insiders = 3

// newInsider returns a federation in which one of the clients is the observer. colluders, 0 or 1,
// is the number of colluding clients that the study assumes.
func newInsider(colluders int) (*federation, error) {
	p, err := newProtocol(clientStudy, insiders, set("inference.rounds", federationRounds), set("privacy.noise_multiplier", 2.0), set("federation.colluders", colluders),
		set("inference.factors", "exact"), set("privacy.coordinates", "raw"))
	return &federation{fmt.Sprintf("one of %d clients, colluders = %d", insiders, colluders), accountant.ZeroOut, p, true}, err
}

// claim returns an event that costs as much as all opened sums together, against the observer of f.
func (f *federation) claim() accountant.Event {
	view := method.Outsider
	if f.insider {
		view = method.Participant
		if f.protocol.Colluders() > 0 {
			view = method.Coalition
		}
	}
	return f.claimFor(view)
}

// claimFor returns an event that costs as much as all opened sums together, against the given
// observer.
func (f *federation) claimFor(view string) accountant.Event {
	for _, v := range f.protocol.Views() {
		if v.Name == view {
			return accountant.Repeated{Event: f.protocol.Method().(method.Single).Mechanism().EventFor(v.Shares, f.adjacency), Times: f.protocol.Releases()}
		}
	}
	// unreachable, because callers name only views that every study of clients has
	panic("audit: a study of clients has no view " + view)
}

// attack returns an attack on the first client, which proposes the same factor in every round. In
// the other world, the proposed change exceeds the clip. In the null world, it has the opposite
// sign under replace-one, and is zero under other adjacencies.
func (f *federation) attack() (attack, error) {
	noise := f.protocol.Method().Noise()
	worlds := [2]float64{0, 1e3 * noise.Clip}
	if f.adjacency == accountant.ReplaceOne {
		worlds[0] = -worlds[1]
	}
	begin := func(seed uint64, world int) (*sim.Federation, error) {
		return f.play(seed, proposes{worlds[world], 0}, nil)
	}
	return playAttack(f.name, f.claim(), begin, func(play *sim.Federation, o *pvi.Outcome) []float64 {
		seen := o.Sum[0]
		if f.insider {
			seen -= play.Message(len(play.Sites) - 1).Change[0]
		}
		return []float64{noise.Lattice.Float(seen)}
	}), nil
}

// messages returns the messages of clients that propose no change. If the program is correct, they
// contain only noise.
func (f *federation) messages(ctx context.Context, seed uint64) (noises, error) {
	const runs = 250
	// claimed is the accounted standard deviation of one noise share in lattice steps.
	claimed := f.protocol.Method().(method.Single).Mechanism().EventFor(1, f.adjacency).(accountant.DiscreteGaussian).Sigma
	return collect(ctx, runs, seed, f.name+", messages", func(seed uint64) ([][][]float64, error) {
		play, err := f.play(seed, f.quiet(), f.quiet())
		if err != nil {
			return nil, err
		}
		return messages(play, claimed)
	})
}

// play returns the federation before its first round. The first client uses the solver first. If
// others is not nil, all other clients use it.
func (f *federation) play(seed uint64, first, others solver.Solver) (*sim.Federation, error) {
	records := make([]*shard.Records, len(f.protocol.Roster()))
	for m := range records {
		records[m] = copies(10, 1, 0)
	}
	play, err := newPlay(f.protocol, seed, records...)
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

// proposes is a solver that returns the same factor for every q.
type proposes []float64

func (p proposes) Propose(dst []float64, _ solver.Problem, _ *dpmech.Stream) ([]accountant.Event, error) {
	copy(dst, p)
	return nil, nil
}

func (proposes) State() []byte { return nil }

func (proposes) Restore([]byte) error { return nil }

// quiet returns a solver that always proposes the client's current factor, so that the change is
// zero. Factors that clients store begin at zero and stay there. Tied factors depend on λ (see
// [stays]).
func (f *federation) quiet() solver.Solver {
	if f.protocol.Study().Inference.Factors == "tied" {
		return stays{weight: 1 / float64(len(f.protocol.Roster())), prior: f.protocol.Prior()}
	}
	return proposes(make([]float64, f.protocol.Family().Size()))
}

// stays is a solver that always proposes the client's current factor λ_m, in a study with tied
// factors. With the weight w and the cavity c = λ − λ_m, this factor is
//
//	λ_m = w·(λ − λ_prior) = w·(c − λ_prior)/(1 − w)
type stays struct {
	weight float64
	prior  []float64
}

func (s stays) Propose(dst []float64, p solver.Problem, _ *dpmech.Stream) ([]accountant.Event, error) {
	for i, c := range p.Cavity {
		dst[i] = s.weight * (c - s.prior[i]) / (1 - s.weight)
	}
	return nil, nil
}

func (stays) State() []byte { return nil }

func (stays) Restore([]byte) error { return nil }
