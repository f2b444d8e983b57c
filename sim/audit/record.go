package audit

import (
	"fedpvi/accountant"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/sim"
)

// recordStudy has one client, which releases the sufficient statistics of its records to everybody.
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

// statisticsAttack returns an attack whose observer reads a client's released statistics. It
// guesses whether the client has one more record, whose statistics exceed the clip or, under
// replace-one, which of two records the client has.
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

// tablesStudy has one client, which releases the tables of its records to everybody, and no model.
const tablesStudy = `
[study]
version = 2
name = "audit"
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "g"
type = "categorical"
levels = ["a", "b"]
[describe]
bins = 4
[privacy]
unit = "record"
noise_multiplier = 1.0
delta = 1e-5
[federation]
max_records = 100
`

// tablesAttack returns an attack whose observer reads a client's released tables. It guesses
// whether the client has one more record, whose contribution is as large as possible. Under
// replace-one, it guesses which of two records the client has.
func tablesAttack(adjacency accountant.Adjacency) (attack, error) {
	protocol, err := newProtocol(tablesStudy, 1, set("privacy.adjacency", adjacency))
	if err != nil {
		return attack{}, err
	}
	claim := accountant.Gaussian{Sensitivity: 1, Sigma: protocol.Study().Privacy.NoiseMultiplier, Adjacency: adjacency}
	if adjacency == accountant.ReplaceOne {
		claim.Sensitivity = 2
	}
	begin := func(seed uint64, world int) (*sim.Federation, error) {
		others := new(shard.Records)
		for k := range 20 {
			others.Append([]float64{float64(k%5)/2 - 1, float64(k % 2)})
		}
		return newPlay(protocol, seed, appendRecord(others, world, adjacency, []float64{1, 1}, []float64{-1, 0}))
	}
	return playAttack("tables, "+string(adjacency), claim, begin, seeSum), nil
}
