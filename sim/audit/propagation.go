package audit

import (
	"context"
	"fmt"

	"fedpvi/accountant"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi"
	"fedpvi/pvi/ep"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// propagationStudy has one client that takes one step of private expectation propagation in each
// round. The factor of each record is longer than the clip and has almost no precision, so the two
// outcomes of a record give opposite factors.
const propagationStudy = binaryColumns + `family = "probit"` + binaryModel + `[inference]
solver = "dp-sep"
rounds = 6
steps = 1
precision_weight = 0.05
[privacy]
unit = "record"
noise_multiplier = 1.5
delta = 1e-5
clip = 0.05
[federation]
max_records = 100
nominal_records = 20
`

// A propagation is a test case with one client that takes steps of private expectation propagation.
// Its records have zero factors, except for the protected record, which the client has only in the
// other world of the [attack].
type propagation struct {
	sampling  string
	rate      float64
	others    int
	adjacency accountant.Adjacency
}

func (c propagation) name() string {
	return fmt.Sprintf("sites, %s %g, %d others, %s", c.sampling, c.rate, c.others, c.adjacency)
}

// propagationCases are cases with so few records that a single one matters.
var propagationCases = []propagation{
	{"poisson", 1, 0, accountant.AddRemove},
	{"poisson", 1, 2, accountant.ReplaceOne},
	{"poisson", 0.2, 4, accountant.ReplaceOne},
}

// quietPropagation is a case in which the factor of every record is zero in the null world.
var quietPropagation = propagation{"poisson", 1, 1, accountant.AddRemove}

func (c propagation) protocol() (*pvi.Protocol, error) {
	return newProtocol(propagationStudy, 1, set("privacy.adjacency", c.adjacency),
		set("inference.sampling", c.sampling), set("inference.sampling_rate", c.rate))
}

// attack returns an attack whose observer reads the client's releases. It guesses whether the
// protected record is present or, under replace-one, which of two records is.
func (c propagation) attack() (attack, error) {
	p, err := c.protocol()
	if err != nil {
		return attack{}, err
	}
	return attack{
		claim: newClaim(p.Method().(method.Stepped).Sampled().Event()),
		learn: linearOnly,
		observe: func(seed uint64, world, run int) (seen []float64, err error) {
			sums, err := c.play(p, runSeed(seed, c.name(), world, run), world)
			for _, sum := range sums {
				seen = append(seen, sum[0][0])
			}
			return seen, err
		},
	}, nil
}

// play runs the client's solver for all rounds in the given world, and returns every released sum
// divided by the sd of its noise.
func (c propagation) play(p *pvi.Protocol, seed uint64, world int) (sums [][][]float64, err error) {
	refined, err := p.NewSolver(shard.Design(p.Study(), binaryRecords(c.others, world, c.adjacency)))
	if err != nil {
		return nil, err
	}
	s, ok := refined.(*ep.DPSEP)
	if !ok {
		return nil, fmt.Errorf("%s: the study has another solver", c.name())
	}
	sigma := float64(p.Method().(method.Stepped).Sampled().ShareSigma())
	mean, factor := make([]float64, p.Family().Dim()), make([]float64, p.Family().Size())
	for round := range p.Study().Inference.Rounds {
		problem := solver.Problem{Family: p.Family(), Mean: mean, Natural: p.Prior(), Cavity: p.Prior(), Weight: 1}
		if _, err := s.Propose(factor, problem, seeded.Stream(seed, "visit", uint64(round))); err != nil {
			return nil, err
		}
		sum := asFloats(s.Released())
		for i := range sum {
			sum[i] /= sigma
		}
		sums = append(sums, [][]float64{sum})
	}
	return sums, nil
}

// quiet returns the noise of the client's steps in the null world, in which all records must have
// factors of zero. Because of the noise, the client's own factor is improper in most steps.
func (c propagation) quiet(ctx context.Context, seed uint64) (noises, error) {
	const runs = 120
	p, err := c.protocol()
	if err != nil {
		return nil, err
	}
	return collect(ctx, runs, seed, c.name()+", noise", func(seed uint64) ([][][]float64, error) { return c.play(p, seed, 0) })
}
