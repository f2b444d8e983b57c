package audit

import (
	"context"
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// A summed is a case of clients whose gradients are opened only as a sum. The observer knows the
// messages of the last clients, who collude and have no gradient. Only the noise shares of the
// others protect, as few as the study assumes.
type summed struct {
	mode      string // of the gradients
	rate      float64
	adjacency accountant.Adjacency
}

const summedClients, summedColluders, summedRounds = 4, 2, 8

func (s summed) name() string {
	what := "summed gradients"
	if s.rate < 1 {
		what = "sampled " + what
	}
	return fmt.Sprintf("%s %s, %d of %d collude, %s", s.mode, what, summedColluders, summedClients, s.adjacency)
}

// summedCases have only one record with a gradient, the one in question.
var summedCases = []summed{
	{"aligned", 1, accountant.AddRemove},
	{"joint", 1, accountant.ReplaceOne},
	{"aligned", 0.4, accountant.AddRemove},
}

func (s summed) protocol() (*pvi.Protocol, error) {
	set := func(key, format string, value any) study.Override {
		return study.Override{Key: key, Value: fmt.Sprintf(format, value)}
	}
	st, err := study.Parse("audit.toml", []byte(gradientStudy),
		set("federation.opens", "%q", study.OpenSums), set("federation.colluders", "%d", summedColluders),
		set("federation.min_clients", "%d", summedClients), set("inference.rounds", "%d", summedRounds),
		study.Override{Key: "inference.steps"}, study.Override{Key: "inference.damping"},
		set("privacy.adjacency", "%q", s.adjacency), set("inference.gradients", "%q", s.mode), set("inference.sampling_rate", "%.2f", s.rate))
	if err != nil {
		return nil, err
	}
	var roster []pvi.ClientID
	for _, h := range s.holders(0) {
		roster = append(roster, h.ID)
	}
	return pvi.NewProtocol(st, roster)
}

// holders returns the clients, the first of which holds the record in question.
func (s summed) holders(world int) []sim.Holder {
	var all []sim.Holder
	for m := range summedClients {
		others := 1 + m%2
		records := gradients{others: others}.records(0)
		if m == 0 {
			records = gradients{others: others, adjacency: s.adjacency}.records(world)
		}
		all = append(all, sim.Holder{ID: pvi.ClientID(fmt.Sprintf("client-%d", m+1)), Records: records})
	}
	return all
}

// attack tests whether the record is there, or which of two records is. The claim is the cost to
// the coalition.
func (s summed) attack() (attack, error) {
	protocol, err := s.protocol()
	if err != nil {
		return attack{}, err
	}
	return attack{
		claim: newClaim(protocol.Method().(method.Stepped).Sampled().Event()),
		learn: linearOnly,
		observe: func(seed uint64, world, run int) ([]float64, error) {
			play, err := sim.New(protocol.Study(), s.holders(world), runSeed(seed, s.name(), world, run), 1)
			if err != nil {
				return nil, err
			}
			var seen []float64
			for {
				o, err := play.Step()
				if err != nil || o == nil {
					return seen, err
				}
				for i, n := range o.Sum {
					for m := summedClients - summedColluders; m < summedClients; m++ {
						n -= play.Message(m).Change[i]
					}
					seen = append(seen, float64(n))
				}
			}
		},
	}, nil
}

// messages collects the real messages of clients without gradients, which are their noise shares.
// The claim is that the shares of the clients who do not collude add up to the noise multiplier.
func (s summed) messages(ctx context.Context, seed uint64) (noises, error) {
	const runs = 250
	protocol, err := s.protocol()
	if err != nil {
		return nil, err
	}
	n := protocol.Method().Noise()
	claimed := n.Multiplier * n.Clip / math.Sqrt(summedClients-summedColluders) / n.Lattice.Step()
	var z noises
	for run := range runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		holders := s.holders(0)
		holders[0].Records = new(shard.Records)
		play, err := sim.New(protocol.Study(), holders, runSeed(seed, s.name()+", messages", 0, run), 1)
		if err != nil {
			return nil, err
		}
		releases, err := everyMessage(play, summedClients, claimed)
		if err != nil {
			return nil, err
		}
		z = append(z, releases)
	}
	return z, nil
}

// everyMessage plays to the end and returns every client's message of every round, in
// the given unit.
func everyMessage(play *sim.Federation, clients int, unit float64) ([][][]float64, error) {
	var rounds [][][]float64
	for {
		if o, err := play.Step(); err != nil || o == nil {
			return rounds, err
		}
		round := make([][]float64, clients)
		for m := range round {
			for _, n := range play.Message(m).Change {
				round[m] = append(round[m], float64(n)/unit)
			}
		}
		rounds = append(rounds, round)
	}
}
