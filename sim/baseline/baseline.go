package baseline

import (
	"fmt"
	"math"
	"math/rand/v2"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/model"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// A Cost is the ε that a baseline method spends on each record, at the study's δ.
type Cost struct {
	Claimed float64
	Proven  float64 // proven ε; NaN if no bound is proven
}

// Play runs the study's baseline method on the records of p's only client. The resulting Gaussian,
// which has independent coordinates, becomes the posterior of p.
func Play(p *sim.Play, seed uint64) (Cost, error) {
	if n := len(p.Federation.Shards); n != 1 {
		return Cost{}, fmt.Errorf("baseline: %d clients hold the records, want one", n)
	}
	b := p.Federation.Protocol.Study().Simulation.Baseline
	if b == study.EP || b == study.SEP {
		return propagate(p)
	}
	r, err := newRecords(p)
	if err != nil {
		return Cost{}, err
	}
	var cost Cost
	var mean, sd []float64
	switch b {
	case study.DPSGLD:
		mean, sd, cost, err = r.langevin(seed)
	case study.OneSample:
		mean, sd, err = r.oneSample(seed)
		cost = Cost{p.Federation.Protocol.Study().Privacy.Epsilon, math.NaN()}
	default:
		return Cost{}, fmt.Errorf("baseline %q is unknown", b)
	}
	if err != nil {
		return Cost{}, fmt.Errorf("baseline: %w", err)
	}
	family := p.Federation.Protocol.Family()
	natural := make([]float64, family.Size())
	d := family.Dim()
	for i, m := range mean {
		natural[d+i] = 1 / (sd[i] * sd[i])
		natural[i] = natural[d+i] * m
	}
	if err := family.Check(natural); err != nil {
		return Cost{}, fmt.Errorf("baseline: the steps have diverged; a smaller inference.step_size keeps them finite: %w", err)
	}
	p.Adopt(natural)
	return cost, nil
}

// records holds all records of a study and the compiled log density of its model.
type records struct {
	play    *sim.Play
	fit     *fit.Model
	program *model.Model
	table   *model.Table
	all     gpu.Evaluator
}

func newRecords(p *sim.Play) (*records, error) {
	r := &records{play: p, fit: p.Federation.Protocol.Model()}
	r.program = r.fit.Program()
	var err error
	if r.table, err = r.fit.Load(p.Federation.Shards[0]); err != nil {
		return nil, err
	}
	r.all, err = gpu.CPU{}.Compile(r.program, r.table)
	return r, err
}

// start returns the mean of the prior, from which all methods begin.
func (r *records) start() []float64 {
	theta := make([]float64, r.program.Dim())
	for i, p := range r.fit.Parameters.All() {
		theta[i] = p.Prior.Mean
	}
	return theta
}

func (r *records) costOf(m *dpmech.SampledSum) (Cost, error) {
	profile, err := accountant.Account(m.Event())
	if err != nil {
		return Cost{}, err
	}
	epsilon, err := profile.Epsilon(r.play.Federation.Protocol.Study().Privacy.Delta)
	return Cost{epsilon.Upper, epsilon.Upper}, err
}

// purpose is the name of the random streams that the baseline methods use.
const purpose = "baseline"

// normals returns a function that fills a slice with standard normal numbers. They protect no
// records, because anyone can compute them from seed and index.
func normals(seed uint64, index ...uint64) func(dst []float64) {
	r := rand.New(seeded.Stream(seed, purpose, index...))
	return func(dst []float64) {
		for i := range dst {
			dst[i] = r.NormFloat64()
		}
	}
}
