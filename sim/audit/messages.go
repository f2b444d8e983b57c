package audit

import (
	"context"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/method"
	"fedpvi/pvi/solver"
)

// messages collects the noise in the real messages of clients that propose no change. Such a
// message is pure noise if the program is correct.
func (f *federation) messages(ctx context.Context, seed uint64) (noises, error) {
	const runs = 250
	claimed := claimedSigma(f.protocol.Method().(method.Single).Mechanism().EventFor(1, f.adjacency))
	var z noises
	for run := range runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		releases, err := f.quietRun(runSeed(seed, f.name+", messages", 0, run), claimed)
		if err != nil {
			return nil, err
		}
		z = append(z, releases)
	}
	return z, nil
}

// claimedSigma is the accounted standard deviation of one noise share, in lattice steps.
func claimedSigma(e accountant.Event) float64 {
	return e.(accountant.DiscreteGaussian).Sigma
}

// quietRun returns every client's message of every round, in the given unit.
func (f *federation) quietRun(seed uint64, unit float64) ([][][]float64, error) {
	play, err := f.play(seed, f.quiet(), f.quiet())
	if err != nil {
		return nil, err
	}
	return everyMessage(play, f.clients, unit)
}

// quiet returns a solver that proposes no change. Factors without noise that started at zero stay
// zero; tied ones are computed.
func (f *federation) quiet() solver.Solver {
	if f.protocol.Study().Inference.Factors == "tied" {
		return stays{weight: 1 / float64(f.clients), prior: f.protocol.Prior()}
	}
	return proposes(make([]float64, f.protocol.Family().Size()))
}

// stays proposes the client's present tied factor, which it computes from the cavity: λ_m = w(λ −
// λ_prior) and cavity λ − λ_m.
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
