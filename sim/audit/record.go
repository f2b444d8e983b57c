package audit

import (
	"fmt"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// recordStudy is one client's release of its records' sufficient statistics, readable by
// everybody.
const recordStudy = slopeStudy + `
[inference]
rounds = 1
[privacy]
unit = "record"
noise_multiplier = 1.0
delta = 1e-5
clip = 0.7
[federation]
max_records = 100
`

// statisticsAttack tests whether a client has one record more, whose statistics exceed the clip,
// or under replace-one which of two records it has.
func statisticsAttack(adjacency accountant.Adjacency) (attack, error) {
	st, err := study.Parse("audit.toml", []byte(recordStudy), study.Override{Key: "privacy.adjacency", Value: fmt.Sprintf("%q", adjacency)})
	if err != nil {
		return attack{}, err
	}
	protocol, err := pvi.NewProtocol(st, []pvi.ClientID{"client"})
	if err != nil {
		return attack{}, err
	}
	records := func(world int) *shard.Records {
		r := new(shard.Records)
		for k := range 40 {
			r.Append([]float64{1, float64(k%3) - 1})
		}
		switch {
		case world == 1:
			r.Append([]float64{1, 1})
		case adjacency == accountant.ReplaceOne:
			r.Append([]float64{1, -1})
		}
		return r
	}
	return attack{
		claim: newClaim(protocol.Method().(method.Single).Mechanism().Event()),
		learn: linearOnly,
		observe: func(seed uint64, world, run int) ([]float64, error) {
			holders := []sim.Holder{{ID: "client", Records: records(world)}}
			play, err := sim.New(st, holders, runSeed(seed, "statistics, "+string(adjacency), world, run), 1)
			if err != nil {
				return nil, err
			}
			o, err := play.Step()
			if err != nil {
				return nil, err
			}
			seen := make([]float64, len(o.Sum))
			for i, n := range o.Sum {
				seen[i] = float64(n)
			}
			return seen, nil
		},
	}, nil
}
