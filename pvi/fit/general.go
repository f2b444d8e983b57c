package fit

import (
	"fmt"
	"strings"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// stickSD is the standard deviation that a coordinate has in the prior of q if the model's own
// prior is not normal.
const stickSD = 1.5

// takeParameters makes a parameter of m from each coordinate of the program, for a model that is
// not a regression. In the prior of q each coordinate is normal. If its prior in the program is
// normal with constant arguments, the two priors are equal.
func (m *Model) takeParameters() {
	p := m.program.Verified().Program()
	m.beyond = len(p.Factors) > 0
	for k, prior := range p.Priors {
		q := &p.Parameters[prior.Parameter]
		own, about := func(int) study.Normal { return study.Normal{SD: stickSD} }, "element of "+q.Name
		mean, sd, normal := normalPrior(p, &prior)
		if normal {
			own = func(e int) study.Normal {
				return study.Normal{Mean: mean[min(e, len(mean)-1)], SD: sd[min(e, len(sd)-1)]}
			}
		} else {
			m.beyond = true
			_, about, _ = strings.Cut(m.program.Describe().Parameters[k], " ~ ")
		}
		m.Parameters.addAll(q.Free(), func(e int) Parameter {
			name, log := strings.CutPrefix(m.program.FreeName(prior.Parameter, e), "log ")
			return Parameter{Name: name, Log: log, Prior: own(e), About: about, Beyond: !normal}
		}, own)
	}
}

// normalPrior returns the means and standard deviations of a normal prior. ok is false if the
// parameter is constrained, or if the prior is not normal with constant arguments.
func normalPrior(p *ir.Program, prior *ir.Prior) (mean, sd []float64, ok bool) {
	if prior.Density != ir.Normal || p.Parameters[prior.Parameter].Constraint.Kind != ir.Unconstrained {
		return nil, nil, false
	}
	a, b := &p.Nodes[prior.Args[0]], &p.Nodes[prior.Args[1]]
	return a.Values, b.Values, a.Op == ir.Const && b.Op == ir.Const
}

// keptProgram is the largest dimension of θ for which a regression keeps its record program. A
// program has a name for each coordinate, and a coordinator does not need it.
const keptProgram = 1 << 16

// Program returns the model as a record program.
func (m *Model) Program() *model.Model {
	if m.program != nil {
		return m.program
	}
	program, err := m.build()
	if err != nil {
		panic("fit: " + err.Error()) // unreachable: New has built the same program before
	}
	return program
}

// flat returns the regressors and the outcomes of all records, one record after the other.
func flat(s *shard.Shard) (x, y []float64) {
	x, y = make([]float64, 0, s.Len()*s.Dim()), make([]float64, 0, s.Len())
	for i := range s.Len() {
		row, outcome := s.Record(i)
		x, y = append(x, row...), append(y, outcome)
	}
	return x, y
}

// Load converts a shard to columns for the record program and loads them.
func (m *Model) Load(s *shard.Shard) (*model.Table, error) {
	table, err := m.Program().Load(s.Len(), m.columns(s))
	return table, loadingError(err)
}

func loadingError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("loading records: %w", err)
}

// columns converts the records of a shard to columns for the record program.
func (m *Model) columns(s *shard.Shard) (columns [][]float64) {
	n := s.Len()
	x, y := flat(s)
	switch {
	case m.Study.Model.Program != nil:
		columns = m.Divide(x, s.Dim())
	case m.Study.Model.Kind() == study.NoOutcome:
		columns = append(columns, x)
	default:
		columns = append(columns, y, x)
	}
	each := func(of func(levels []int32, slopes []float64) float64) {
		column := make([]float64, n)
		for i := range column {
			column[i] = of(s.Groups(i))
		}
		columns = append(columns, column)
	}
	for g, effects := range m.layout.groups {
		each(func(levels []int32, _ []float64) float64 { return float64(levels[g]) })
		for _, e := range effects {
			if e.Slope >= 0 {
				each(func(_ []int32, slopes []float64) float64 { return slopes[e.Slope] })
			}
		}
	}
	return columns
}

// Records returns the likelihood of the records in s, computed by the record program. clients is
// the number of clients in the study. The likelihood includes this client's equal share of the log
// ratio between the prior and the Gaussian prior of q.
func (m *Model) Records(s *shard.Shard, clients int) (*solver.Program, error) {
	table, err := m.Load(s)
	if err != nil {
		return nil, err
	}
	base := solver.Base{}
	for _, p := range m.Parameters.All() {
		base.Mean, base.SD = append(base.Mean, p.Prior.Mean), append(base.SD, p.Prior.SD)
	}
	p, err := solver.NewProgram(m.Program(), table, base, m.beyond, 1/float64(clients))
	if err == nil && m.Study.Model.Program != nil {
		p.CurveAtMean()
	}
	return p, err
}

// draws is the number of quasi-random points used to average a program's predictions.
const draws = 256

// average sets the means of a program's predictions and the log densities. It averages them over
// quasi-random points of the posterior.
func (m *Model) average(out []Prediction, s *shard.Shard, family gaussian.Family, natural []float64) error {
	table, err := m.Load(s)
	if err != nil {
		return err
	}
	program, n := m.Program(), s.Len()
	kind, _, _ := program.Outcomes()
	logs, means := make([]float64, draws*n), make([]float64, n)
	k := 0
	err = solver.EachPoint(family, natural, draws, func(theta []float64) {
		program.LogDensities(logs[k*n:(k+1)*n], theta, table)
		if kind != ir.NoPrediction {
			program.Predict(means, theta, table)
		}
		for i := range out {
			out[i].Mean += means[i] / draws
		}
		k++
	})
	one := make([]float64, draws)
	for i := range out {
		for k := range one {
			one[k] = logs[k*n+i]
		}
		out[i].LogDensity, out[i].Error = logMean(one)
	}
	return err
}
