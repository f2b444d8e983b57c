package audit

import (
	"fedpvi/accountant"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/sim"
)

// recordStudy has one client, which releases the sufficient statistics of its records. Everybody
// can read them.
const recordStudy = slopeStudy + `[inference]
rounds = 1
[privacy]
unit = "record"
noise_multiplier = 1.0
delta = 1e-5
clip = 0.7
[federation]
max_records = 100
`

// statisticsAttack returns an attack that tests whether a client has one more record, whose
// statistics exceed the clip. Under replace-one it tests which of two records the client has.
func statisticsAttack(adjacency accountant.Adjacency) (attack, error) {
	protocol, err := newProtocol(recordStudy, 1, set("privacy.adjacency", adjacency))
	if err != nil {
		return attack{}, err
	}
	begin := func(seed uint64, world int) (*sim.Federation, error) {
		others := new(shard.Records)
		for k := range 40 {
			others.Append([]float64{1, float64(k%3) - 1})
		}
		return newPlay(protocol, seed, appendRecord(others, world, adjacency, []float64{1, 1}, []float64{1, -1}))
	}
	return playAttack("statistics, "+string(adjacency), protocol.Method().(method.Single).Mechanism().Event(), begin, seeSum), nil
}
