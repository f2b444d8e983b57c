package audit

import (
	"context"
	"math"

	"fedpvi/accountant"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// quietCases have no record with a gradient in the null world, so that every step is noise plus
// the part that does not depend on records.
var quietCases = []gradients{
	{"aligned", 1, 1, 2, accountant.AddRemove, false},
	{"joint", 1, 0.4, 2, accountant.AddRemove, false},
	{"preconditioned", 2, 1, 1, accountant.AddRemove, false},
}

// quiet collects the noise of steps, one a round, from the client's messages: the move of q less
// the pull towards the prior.
func (g gradients) quiet(ctx context.Context, seed uint64) (noises, error) {
	const runs = 60
	st, err := g.study(study.Override{Key: "inference.rounds", Value: "10"}, study.Override{Key: "inference.steps", Value: "1"})
	if err != nil {
		return nil, err
	}
	var z noises
	for run := range runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		holders := []sim.Holder{{ID: "client", Records: g.records(0)}}
		play, err := sim.New(st, holders, runSeed(seed, g.name()+", noise", 0, run), 1)
		if err != nil {
			return nil, err
		}
		one, err := g.steps(play)
		if err != nil {
			return nil, err
		}
		z = append(z, one)
	}
	return z, nil
}

// steps plays to the end and returns the noise of every step, in units of the claimed standard
// deviation: of the mean, and of the log sd if that has noise of its own.
func (g gradients) steps(play *sim.Federation) (all [][][]float64, err error) {
	p := play.Protocol
	in, prior := p.Study().Inference.Descent, p.Prior()
	draws := float64(g.draws)
	unit := p.Method().Noise().Multiplier * p.Method().Noise().Clip / (g.rate * math.Sqrt(draws)) // of the mean over draws
	mean, sd := prior[0]/prior[1], p.Method().(method.Stepped).Steps().InitialSD
	for {
		o, err := play.Step()
		if err != nil || o == nil {
			return all, err
		}
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
	}
}
