package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// RecordDraws is the number of posterior draws used to compute quantities of records.
const RecordDraws = 1024

// Predicted holds the posterior of quantities of new records. It must not leave the machine that
// has the records.
type Predicted struct {
	Quantities []string // names of the quantities
	LeftOut    []string // names of quantities that could not be computed because a column is missing

	// Each calls visit for each record in order, with the quantities of the record. If log_lik is one
	// of the quantities, density is the log of the posterior mean of exp(log_lik). The slice is valid
	// until visit returns.
	Each func(visit func(record int, quantities []Quantity, density LogDensity) error) error
}

// A LogDensity is the log predictive density of a record.
type LogDensity struct {
	Value float64 // NaN if there is no log density
	Error float64 // standard error of Value if that is an average over draws, and otherwise 0
}

// mostError is the largest standard error of a log predictive density that does not call for a
// remark.
const mostError = 0.1

// Uncertain reports whether too few draws are close to the record for an accurate log density.
func (d LogDensity) Uncertain() bool { return d.Error > mostError }

// logLikelihood is the name of the quantity that is the log density of a record. The log predictive
// density is computed from it.
const logLikelihood = "log_lik"

// A Posterior generates draws of θ. They are the same each time.
type Posterior struct {
	draw func(visit func(k int, theta []float64)) error // calls visit for each draw, where k is the number of the draw
	q    *solver.Approximation                          // nil for a point estimate
	err  error
}

// Draws returns [RecordDraws] draws of a Gaussian with the given natural parameters.
func (m *Model) Draws(family gaussian.Family, natural []float64) Posterior {
	q, err := solver.NewApproximation(family, natural)
	return Posterior{func(visit func(k int, theta []float64)) error { return m.eachDraw(family, natural, RecordDraws, visit) }, q, err}
}

// At returns [RecordDraws] draws that all equal θ.
func At(theta []float64) Posterior {
	return Posterior{draw: func(visit func(k int, theta []float64)) error {
		for k := range RecordDraws {
			visit(k, theta)
		}
		return nil
	}}
}

// PredictNew returns the quantities that the study's program generates for new records. If it
// generates none, the quantities are the log density of the record, the mean of the outcome and a
// new outcome, as far as the model defines them.
func (m *Model) PredictNew(records *shard.New, q Posterior) (*Predicted, error) {
	if q.err != nil {
		return nil, q.err
	}
	g, err := m.newGenerator(records)
	if err != nil {
		return nil, err
	}
	all, absent := g.names()
	out := &Predicted{}
	var at []int
	for i, name := range all {
		if absent[i] {
			out.LeftOut = append(out.LeftOut, name)
		} else {
			at, out.Quantities = append(at, i), append(out.Quantities, name)
		}
	}
	if len(at) == 0 {
		return nil, fmt.Errorf("every quantity needs a column that the table of records lacks: %s", m.lacking(records))
	}
	log := slices.Index(all, logLikelihood)
	out.Each = func(visit func(int, []Quantity, LogDensity) error) error {
		return eachRecord(g, records.Len(), len(all), at, log, out.Quantities, q, visit)
	}
	return out, nil
}

// lacking returns a list of the columns that are missing in a table.
func (m *Model) lacking(records *shard.New) string {
	var names []string
	for i, absent := range records.Absent {
		if absent {
			names = append(names, m.Study.Columns[i].Name)
		}
	}
	return strings.Join(names, ", ")
}

// A generator computes quantities of records.
type generator interface {
	// names returns the names of the quantities, and marks those that need a missing column.
	names() (names []string, absent []bool)
	// load prepares the records in [from, to), where from is a multiple of [ir.Block].
	load(from, to int) error
	// density returns a function that computes the log predictive density of a loaded record under q.
	// The argument of the function is the number of the record among the loaded ones, from 0. If
	// densities have to be averaged over draws instead, density returns nil.
	density(q *solver.Approximation) (func(record int) LogDensity, error)
	// compute computes all quantities of the loaded records for theta, which is draw number k, and
	// writes them to dst, record by record.
	compute(dst []float64, k int, theta []float64)
}

// eachRecord computes the quantities of all records, several records at a time.
func eachRecord(g generator, records, size int, at []int, log int, names []string, q Posterior, visit func(int, []Quantity, LogDensity) error) error {
	const most = 1 << 22 // largest number of quantities that are in memory at once
	step := max(1, min(64, most/(RecordDraws*size*ir.Block))) * ir.Block
	for from := 0; from < records; from += step {
		to := min(from+step, records)
		if err := g.load(from, to); err != nil {
			return err
		}
		var integrated func(record int) LogDensity
		if slices.Contains(at, log) && q.q != nil {
			var err error
			if integrated, err = g.density(q.q); err != nil {
				return err
			}
		}
		width := (to - from) * size
		values := make([]float64, RecordDraws*width)
		if err := q.draw(func(k int, theta []float64) { g.compute(values[k*width:(k+1)*width], k, theta) }); err != nil {
			return err
		}
		one, quantities := make([]float64, RecordDraws), make([]Quantity, len(at))
		for record := from; record < to; record++ {
			density := LogDensity{Value: math.NaN()}
			for n, i := range at {
				for k := range one {
					one[k] = values[k*width+(record-from)*size+i]
				}
				switch {
				case i == log && integrated != nil:
					density = integrated(record - from)
				case i == log:
					density.Value, density.Error = logMean(one)
				}
				quantities[n] = Quantity{Name: names[n]}
				quantities[n].Spread, quantities[n].Undefined = spreadOf(one)
			}
			if err := visit(record, quantities, density); err != nil {
				return err
			}
		}
	}
	return nil
}

// logMean returns log(mean(exp(logs))), and its standard error if the elements of logs are
// independent draws. If the standard error is large, it is an underestimate, because the draws are
// then likely to miss the largest values.
func logMean(logs []float64) (mean, err float64) {
	top := slices.Max(logs)
	if math.IsInf(top, 0) {
		return top, 0
	}
	n := float64(len(logs))
	var sum, squares float64
	for _, x := range logs {
		w := math.Exp(x - top)
		sum, squares = sum+w, squares+w*w
	}
	return top + math.Log(sum/n), math.Sqrt(max(squares/(sum*sum)-1/n, 0))
}

func (m *Model) newGenerator(records *shard.New) (generator, error) {
	if m.Study.Model.Program == nil {
		return m.newOutcomes(records)
	}
	g := m.Generator()
	if len(g.RecordNames()) == 0 {
		compiled, err := m.compiled(m.Study.Model.Program.Tree, true)
		if err != nil {
			return nil, err
		}
		g = compiled.Quantities.Generator(m.Study.Digest)
	}
	absent := make([]bool, len(m.Study.Model.Program.Variables))
	for k, v := range m.Study.Model.Program.Variables {
		absent[k] = slices.ContainsFunc(v.Parts, func(p study.ProgramPart) bool { return records.Absent[p.Column] })
	}
	p := &programGenerator{m: m, g: g, records: records, absent: absent, shared: make([]float64, len(g.Names()))}
	if log := slices.Index(g.RecordNames(), logLikelihood); log >= 0 {
		p.predictors = g.Predictors(log)
	}
	return p, nil
}

// design returns the records in [from, to) as a shard on the model's scale.
func (m *Model) design(records *shard.New, from, to int) *shard.Shard {
	rows := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		rows = append(rows, i)
	}
	return shard.Design(m.Study, records.Select(rows))
}

// A programGenerator computes the quantities that a program generates.
type programGenerator struct {
	m       *Model
	g       *model.Generator
	records *shard.New
	absent  []bool // whether each variable of the program needs a missing column
	shared  []float64
	loaded  *model.RecordGenerator
	from    int

	predictors *model.Predictors // linear predictors of log_lik; nil if it is not a function of such predictors
	columns    [][]float64       // columns of the loaded records
	rows       int               // number of loaded records
}

func (p *programGenerator) names() ([]string, []bool) {
	return p.g.RecordNames(), p.g.Reads(p.absent)
}

func (p *programGenerator) load(from, to int) (err error) {
	s := p.m.design(p.records, from, to)
	x, _ := flat(s)
	p.from, p.rows, p.columns = from, s.Len(), p.m.Divide(x, s.Dim())
	p.loaded, err = p.g.Load(p.rows, p.columns)
	return err
}

func (p *programGenerator) density(q *solver.Approximation) (func(record int) LogDensity, error) {
	if !p.m.integrable(p.predictors) {
		return nil, nil
	}
	table, err := p.predictors.Load(p.rows, p.columns)
	return (&predictive{table, q}).logDensity, err
}

func (p *programGenerator) compute(dst []float64, k int, theta []float64) {
	p.g.Shared(p.shared, theta, k)
	p.loaded.Records(dst, p.from)
}
