package audit

import (
	"context"
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// gradientStudy has one client, which takes private gradient steps of constant size without
// momentum. Apart from the gradient of the prior, the mean of q then moves in proportion to the sum
// of the releases.
const gradientStudy = binaryColumns + `family = "logistic"` + binaryModel + `[inference]
rounds = 2
damping = 1.0
steps = 4
optimiser = "sgd"
step_size = 0.02
step_decay = 1.0
average = 0.0
[privacy]
unit = "record"
noise_multiplier = 1.5
delta = 1e-5
clip = 0.05
[federation]
max_records = 100
nominal_records = 20
`

// A gradients is a test case with one client that takes private gradient steps. Its records have
// zero gradients, except for the protected record, which the client has only in the other world of
// the [attack].
type gradients struct {
	mode      string // kind of gradients
	draws     int
	rate      float64
	others    int
	adjacency accountant.Adjacency
	last      bool // whether the study has a last round, which releases a gradient and a curvature
}

func (g gradients) name() string {
	what := "gradients"
	if g.rate < 1 {
		what = "sampled gradients"
	}
	if g.last {
		what += " and a curvature"
	}
	if g.draws > 1 {
		what += fmt.Sprintf(" of %d draws", g.draws)
	}
	return fmt.Sprintf("%s %s, %d others, %s", g.mode, what, g.others, g.adjacency)
}

// gradientCases are the cases for attacks. In each world, at most one record has a nonzero
// gradient: the protected record or its replacement.
var gradientCases = []gradients{
	{"aligned", 1, 1, 0, accountant.AddRemove, false},
	{"joint", 1, 1, 3, accountant.ReplaceOne, false},
	{"aligned", 1, 0.4, 2, accountant.ReplaceOne, false},
	{"joint", 1, 0.4, 0, accountant.AddRemove, false},
	{"aligned", 3, 1, 1, accountant.AddRemove, false},
	{"preconditioned", 1, 0.4, 0, accountant.ReplaceOne, false},
	{"published", 2, 1, 0, accountant.AddRemove, false},
	{"aligned", 1, 1, 0, accountant.AddRemove, true},
}

func (g gradients) protocol(more ...study.Override) (*pvi.Protocol, error) {
	intervals := study.ClosedForm
	if g.last {
		intervals = study.OneStep
	}
	return newProtocol(gradientStudy, 1, append(more, set("inference.noise_aware", intervals), set("privacy.adjacency", g.adjacency),
		set("inference.gradients", g.mode), set("inference.draws", g.draws), set("inference.sampling_rate", g.rate))...)
}

// attack returns an attack whose observer reads all releases of the client. It guesses whether the
// protected record is present or, under replace-one, which of two records is.
func (g gradients) attack() (attack, error) {
	protocol, err := g.protocol()
	if err != nil {
		return attack{}, err
	}
	event := protocol.Method().(method.Stepped).Sampled().Event()
	for _, c := range protocol.After() {
		event = accountant.Composed{event, c.EventFor(1, g.adjacency)}
	}
	begin := func(seed uint64, world int) (*sim.Federation, error) {
		return newPlay(protocol, seed, binaryRecords(g.others, world, g.adjacency))
	}
	return playAttack(g.name(), event, begin, seeSum), nil
}

// quietCases are cases for tests of the noise. In the null world all gradients are zero, so that q
// moves only by a public part and the noise.
var quietCases = []gradients{
	{"aligned", 1, 1, 2, accountant.AddRemove, false},
	{"joint", 1, 0.4, 2, accountant.AddRemove, false},
	{"preconditioned", 2, 1, 1, accountant.AddRemove, false},
}

// quiet returns the noise of the client's steps in the null world, with one step per round: the
// change of q in a round, minus the part of it that is due to the prior.
func (g gradients) quiet(ctx context.Context, seed uint64) (noises, error) {
	const runs = 60
	protocol, err := g.protocol(set("inference.rounds", 10), set("inference.steps", 1))
	if err != nil {
		return nil, err
	}
	return collect(ctx, runs, seed, g.name()+", noise", func(seed uint64) ([][][]float64, error) {
		play, err := newPlay(protocol, seed, binaryRecords(g.others, 0, g.adjacency))
		if err != nil {
			return nil, err
		}
		return g.steps(play)
	})
}

// steps runs the study and returns the noise of every step, in units of the claimed standard
// deviation: a value for the mean of q, and one for the log sd if it has separate noise.
func (g gradients) steps(play *sim.Federation) (all [][][]float64, err error) {
	p := play.Protocol
	in, prior := p.Study().Inference.Descent, p.Prior()
	draws := float64(g.draws)
	// claimed sd of the noise in the mean of q, averaged over the draws of θ
	unit := p.Method().Noise().Multiplier * p.Method().Noise().Clip / (g.rate * math.Sqrt(draws))
	mean, sd := prior[0]/prior[1], p.Method().(method.Stepped).Steps().InitialSD
	err = play.Run(context.Background(), func(*pvi.Outcome) error {
		natural := play.Server.Posterior()
		to, narrowed := natural[0]/natural[1], 1/math.Sqrt(natural[1])
		noise := []float64{((to-mean)/in.StepSize + prior[1]*mean - prior[0]) / unit}
		if in.Gradients.Joint() {
			slope := math.Log(narrowed/sd)/in.StepSize - (1 - prior[1]*sd*sd)
			if in.Gradients == study.Preconditioned {
				slope /= sd
			}
			noise = append(noise, slope/unit)
		}
		all = append(all, [][]float64{noise})
		mean, sd = to, narrowed
		return nil
	})
	return all, err
}
