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

// A summed is a test case in which only the sum of the clients' gradients is opened. The last
// clients collude with the observer, and their records have zero gradients. As few honest clients
// as the study allows protect the record with their noise shares.
type summed struct {
	mode      string // value of the setting inference.gradients
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

// summedCases are cases in which only the protected record has a gradient.
var summedCases = []summed{
	{"aligned", 1, accountant.AddRemove},
	{"joint", 1, accountant.ReplaceOne},
	{"aligned", 0.4, accountant.AddRemove},
}

func (s summed) protocol() (*pvi.Protocol, error) {
	return newProtocol(gradientStudy, summedClients, set("federation.opens", study.OpenSums), set("federation.colluders", summedColluders),
		set("federation.min_clients", summedClients), set("inference.rounds", summedRounds),
		study.Override{Key: "inference.steps"}, study.Override{Key: "inference.damping"},
		set("privacy.adjacency", s.adjacency), set("inference.gradients", s.mode), set("inference.sampling_rate", s.rate))
}

// play sets up a run. first has the records of the first client. All other records have zero
// gradients.
func (s summed) play(p *pvi.Protocol, seed uint64, first *shard.Records) (*sim.Federation, error) {
	records := []*shard.Records{first}
	for m := 1; m < summedClients; m++ {
		records = append(records, copies(1+m%2, 0, 1))
	}
	return newPlay(p, seed, records...)
}

// attack returns an attack that tests whether the protected record is present or, under
// replace-one, which of two records is. The claim is the cost against the observer with the
// colluding clients.
func (s summed) attack() (attack, error) {
	protocol, err := s.protocol()
	if err != nil {
		return attack{}, err
	}
	begin := func(seed uint64, world int) (*sim.Federation, error) {
		return s.play(protocol, seed, binaryRecords(1, world, s.adjacency))
	}
	return playAttack(s.name(), protocol.Method().(method.Stepped).Sampled().Event(), begin, seeHonest), nil
}

// seeHonest returns an opened sum minus the messages of the colluders.
func seeHonest(play *sim.Federation, o *pvi.Outcome) []float64 {
	seen := make([]float64, len(o.Sum))
	for i, n := range o.Sum {
		for m := summedClients - summedColluders; m < summedClients; m++ {
			n -= play.Message(m).Change[i]
		}
		seen[i] = float64(n)
	}
	return seen
}

// messages collects the messages of clients whose records have no gradient, which are pure noise
// shares. The accountant assumes that the honest clients' shares add up to the study's noise
// multiplier.
func (s summed) messages(ctx context.Context, seed uint64) (noises, error) {
	const runs = 250
	protocol, err := s.protocol()
	if err != nil {
		return nil, err
	}
	n := protocol.Method().Noise()
	claimed := n.Multiplier * n.Clip / math.Sqrt(summedClients-summedColluders) / n.Lattice.Step()
	return collect(ctx, runs, seed, s.name()+", messages", func(seed uint64) ([][][]float64, error) {
		play, err := s.play(protocol, seed, new(shard.Records))
		if err != nil {
			return nil, err
		}
		return messages(play, claimed)
	})
}
