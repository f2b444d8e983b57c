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
	"fedpvi/pvi/study"
)

// propagationStudy has one client that takes steps of private expectation propagation, one a
// round. The site of its one coefficient is longer than the clip and has almost no precision: two
// outcomes have opposite sites.
const propagationStudy = `
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
bounds = [0, 1]
[model]
family = "probit"
outcome = "y"
positive = ">= 0.5"
terms = ["x"]
intercept = false
standardise = "none"
[inference]
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

// A propagation is a case of a client that takes such steps. The observer reads its releases. The
// client has the record in question and others whose sites are zero.
type propagation struct {
	sampling  string
	rate      float64
	others    int
	adjacency accountant.Adjacency
}

func (c propagation) name() string {
	return fmt.Sprintf("sites, %s %g, %d others, %s", c.sampling, c.rate, c.others, c.adjacency)
}

// propagationCases has few records, all in every step.
var propagationCases = []propagation{
	{"poisson", 1, 0, accountant.AddRemove},
	{"poisson", 1, 2, accountant.ReplaceOne},
	{"poisson", 0.2, 4, accountant.ReplaceOne},
}

// quietPropagation has no record with a site.
var quietPropagation = propagation{"poisson", 1, 1, accountant.AddRemove}

// protocol returns the protocol of a case.
func (c propagation) protocol() (*pvi.Protocol, error) {
	st, err := study.Parse("audit.toml", []byte(propagationStudy),
		study.Override{Key: "privacy.adjacency", Value: fmt.Sprintf("%q", c.adjacency)},
		study.Override{Key: "inference.sampling", Value: fmt.Sprintf("%q", c.sampling)},
		study.Override{Key: "inference.sampling_rate", Value: fmt.Sprintf("%.2f", c.rate)})
	if err != nil {
		return nil, err
	}
	return pvi.NewProtocol(st, []pvi.ClientID{"client"})
}

// attack tests whether the record is there, or which of two records is.
func (c propagation) attack() (attack, error) {
	p, err := c.protocol()
	if err != nil {
		return attack{}, err
	}
	return attack{
		claim: newClaim(p.Method().(method.Stepped).Sampled().Event()),
		learn: linearOnly,
		observe: func(seed uint64, world, run int) ([]float64, error) {
			var seen []float64
			err := c.play(p, runSeed(seed, c.name(), world, run), world, func(sum []float64) { seen = append(seen, sum[0]) })
			return seen, err
		},
	}, nil
}

// play takes all steps in a world and returns every sum in units of its noise.
func (c propagation) play(p *pvi.Protocol, seed uint64, world int, show func(sum []float64)) error {
	refined, err := p.NewSolver(shard.Design(p.Study(), c.records(world)))
	if err != nil {
		return err
	}
	s, ok := refined.(*ep.DPSEP)
	if !ok {
		return fmt.Errorf("%s: the study has another solver", c.name())
	}
	mean, factor := make([]float64, p.Family().Dim()), make([]float64, p.Family().Size())
	for round := range p.Study().Inference.Rounds {
		problem := solver.Problem{Family: p.Family(), Mean: mean, Natural: p.Prior(), Cavity: p.Prior(), Weight: 1}
		if _, err := s.Propose(factor, problem, seeded.Stream(seed, "visit", uint64(round))); err != nil {
			return err
		}
		sum := make([]float64, 0, p.Method().(method.Stepped).Sampled().Dim())
		for _, n := range s.Released() {
			sum = append(sum, float64(n)/float64(p.Method().(method.Stepped).Sampled().ShareSigma()))
		}
		show(sum)
	}
	return nil
}

func (c propagation) records(world int) *shard.Records {
	r := new(shard.Records)
	for range c.others {
		r.Append([]float64{0, 1})
	}
	switch {
	case world == 1:
		r.Append([]float64{1, 1})
	case c.adjacency == accountant.ReplaceOne:
		r.Append([]float64{1, 0})
	}
	return r
}

// quiet collects the noise of every step of a client whose records have zero sites. Its factor is
// mostly improper.
func (c propagation) quiet(ctx context.Context, seed uint64) (noises, error) {
	const runs = 120
	p, err := c.protocol()
	if err != nil {
		return nil, err
	}
	var z noises
	for run := range runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var one [][][]float64
		if err := c.play(p, runSeed(seed, c.name()+", noise", 0, run), 0, func(sum []float64) { one = append(one, [][]float64{sum}) }); err != nil {
			return nil, err
		}
		z = append(z, one)
	}
	return z, nil
}
