package speed

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/gpu"
	"fedpvi/gpu/cuda"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// The problem is a logistic regression on generated records with Poisson sampling. These are its
// sizes.
const (
	records = 10_000
	dim     = 14
	batch   = 200
	many    = 256 // number of problems that a device computes at the same time
	words   = "logistic regression, 14 coefficients, batches of some 200 of 10,000 made-up records"
)

type problem struct {
	model *model.Model
	table *model.Table
	here  cuda.Regression
}

func newProblem() (*problem, error) {
	p := &problem{here: cuda.Regression{Family: cuda.Logistic, Dim: dim}}
	for i := range records {
		at := 0.0
		for j := range dim {
			x := math.Cos(float64(i*j)) / math.Sqrt(dim)
			p.here.Rows = append(p.here.Rows, x)
			at += 2 * x * math.Cos(float64(j))
		}
		y := 0.0
		if at > math.Sin(float64(i*i)) {
			y = 1
		}
		p.here.Outcomes = append(p.here.Outcomes, y)
	}
	b := model.NewBuilder("logistic regression")
	names := make([]string, dim)
	for j := range names {
		names[j] = fmt.Sprint("x", j)
	}
	y, x := b.Integer("y", 0, 1), b.Reals("x", names, -1, 1)
	eta := b.Linear(x, b.Vector("beta", names, model.Free, b.Normal(model.Normal{SD: 1})))
	var err error
	if p.model, err = b.Build(b.LogDensity(ir.BernoulliLogit, y, eta)); err != nil {
		return nil, err
	}
	p.table, err = p.model.Load(records, [][]float64{p.here.Outcomes, p.here.Rows})
	return p, err
}

func (p *problem) mechanism(steps int, selection dpmech.Selection) (*dpmech.SampledSum, error) {
	return dpmech.NewSampledSum(dpmech.SampledConfig{
		Sampling: dpmech.Poisson{Rate: float64(batch) / records, Selection: selection}, Records: records, Steps: steps,
		Dim: dim, Clip: 0.5, NoiseMultiplier: 2, Adjacency: accountant.AddRemove,
	})
}

var schedule = gpu.LinearDecay{First: 0.1, Last: 0.005}

// visit runs private steps of variational inference. They run on d or, if d is nil, on the CPU.
func (p *problem) visit(steps int, d cuda.Device) error {
	base := solver.Base{Mean: make([]float64, dim), SD: make([]float64, dim)}
	natural := make([]float64, 2*dim)
	for j := range dim {
		base.SD[j], natural[dim+j] = 1, 1
	}
	program, err := solver.NewProgram(p.model, p.table, base, false, 1)
	if err != nil {
		return err
	}
	m, err := p.mechanism(steps, dpmech.Exact)
	if err != nil {
		return err
	}
	s, err := solver.NewDPSVI(program, m, solver.DPSVIOptions{
		Steps: steps, Draws: 1, Rate: float64(batch) / records, Gradients: study.Aligned, Optimiser: study.Adam,
		Schedule: schedule, Average: 0.5, InitialSD: 0.1,
	})
	if err != nil {
		return err
	}
	if d != nil {
		keyed, err := p.mechanism(steps, dpmech.Feistel)
		if err == nil {
			err = s.On(solver.Accelerator{Device: d, Failed: func(err error) error { return err }}, keyed, p.here)
		}
		if err != nil {
			return err
		}
	}
	_, err = s.Propose(make([]float64, 2*dim), solver.Problem{
		Family: gaussian.Diagonal(dim), Mean: make([]float64, dim), Natural: natural, Cavity: natural, Weight: 1,
	}, dpmech.NewStream())
	return err
}

// visits runs private steps for many copies of the problem at once.
func (p *problem) visits(steps int, d cuda.Device) (err error) {
	m, err := p.mechanism(steps, dpmech.Feistel)
	if err != nil {
		return err
	}
	table, err := p.here.Put(d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, table.Free()) }()
	mean, sd := make([]float64, dim), make([]float64, dim)
	for j := range sd {
		sd[j] = 1
	}
	all := make([]*cuda.Visit, many)
	for i := range all {
		o := gpu.MeanFieldOptions{
			Draws: 1, Clip: math.Inf(1), Rate: float64(batch) / records, CavityMean: mean, CavityPrecision: sd,
			Optimiser: gpu.NewAdam(2 * dim), Schedule: schedule, Steps: steps, Average: 0.5,
		}
		all[i] = &cuda.Visit{Table: table, Options: o}
		if all[i].Run, err = gpu.NewMeanField(mean, sd, o); err != nil {
			return err
		}
		if all[i].Plan, err = m.Begin().Plan(steps, dpmech.NewStreams(), dpmech.NewStream()); err != nil {
			return err
		}
		defer all[i].Plan.Wipe()
	}
	return cuda.Descend(d, all)
}
