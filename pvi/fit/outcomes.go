package fit

import (
	"fmt"
	"math"

	"fedpvi/dpmech"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// An outcomeGenerator computes quantities of records for models without a program. These are the
// log density, the mean of the outcome or the probability of each class, and a new outcome.
// Outcomes are in the units of their column, and classes are numbered from 1.
type outcomeGenerator struct {
	m       *Model
	records *shard.New
	column  *study.Column    // column of the outcome, or nil
	drawn   solver.Described // draws new outcomes; may be nil
	program *model.Model
	values  int // number of predicted values per record

	from            int
	loaded          *shard.Shard
	table           *model.Table
	logs, predicted []float64
	normals, eta    []float64
}

func (m *Model) newOutcomes(records *shard.New) (*outcomeGenerator, error) {
	g := &outcomeGenerator{m: m, records: records, program: m.Program()}
	_, _, g.values = g.program.Outcomes()
	outcome := -1
	if m.Study.Model.Kind() != study.NoOutcome {
		outcome = m.Study.ColumnIndex(m.Study.Model.Outcome)
		g.column = &m.Study.Columns[outcome]
	}
	for _, i := range m.Study.Modelled() {
		if records.Absent[i] && i != outcome {
			return nil, fmt.Errorf("the table of records lacks the column %s, which the model reads", m.Study.Columns[i].Name)
		}
	}
	if !m.General() {
		o := m.Outcome()
		o.Effects = 0 // the location's predictor already includes the group effects
		var err error
		if g.drawn, err = o.Described(); err != nil {
			return nil, err
		}
		g.eta = make([]float64, m.Locations(), m.Locations()+1)
	}
	return g, nil
}

func (g *outcomeGenerator) names() (names []string, absent []bool) {
	names = []string{logLikelihood}
	switch {
	case g.values > 1:
		for _, level := range g.column.Levels {
			names = append(names, "p("+level+")")
		}
	case g.values == 1:
		names = append(names, g.column.Name+"_expected")
	}
	if g.drawn != nil {
		names = append(names, g.column.Name+"_rep")
	}
	absent = make([]bool, len(names))
	absent[0] = g.column != nil && g.records.Absent[g.m.Study.ColumnIndex(g.column.Name)]
	return names, absent
}

func (g *outcomeGenerator) load(from, to int) (err error) {
	g.from, g.loaded = from, g.m.design(g.records, from, to)
	g.logs, g.predicted = make([]float64, to-from), make([]float64, (to-from)*g.values)
	g.normals = make([]float64, 2*ir.Block)
	g.table, err = g.m.Load(g.loaded)
	return err
}

func (g *outcomeGenerator) density(q *solver.Approximation) (func(record int) LogDensity, error) {
	if !g.m.integrable(g.m.predictors()) {
		return nil, nil
	}
	table, err := g.m.predictors().Load(g.loaded.Len(), g.m.columns(g.loaded))
	p, unit := &predictive{table, q}, g.logUnit()
	return func(record int) LogDensity {
		log := p.logDensity(record)
		log.Value -= unit
		return log
	}, err
}

// logUnit returns the log of the outcome's unit, or 0 if the outcome has no unit because it is not
// measured.
func (g *outcomeGenerator) logUnit() float64 {
	if g.m.Study.Model.Kind() != study.Measured {
		return 0
	}
	return math.Log(g.m.Study.OutcomeUnit())
}

func (g *outcomeGenerator) compute(dst []float64, k int, theta []float64) {
	g.program.LogDensities(g.logs, theta, g.table)
	if g.values > 0 {
		g.program.Predict(g.predicted, theta, g.table)
	}
	measured := g.m.Study.Model.Kind() == study.Measured
	unit := g.logUnit()
	for i, log := range g.logs {
		dst[0] = log - unit
		dst = dst[1:]
		for _, x := range g.predicted[i*g.values : (i+1)*g.values] {
			if measured {
				x = g.m.Study.Unscale(g.column, x)
			}
			dst[0] = x
			dst = dst[1:]
		}
		if g.drawn == nil {
			continue
		}
		if i%ir.Block == 0 {
			dpmech.FillPublicNormal(g.normals, "new outcomes", g.m.Study.Digest, k<<32|(g.from+i)/ir.Block)
		}
		dst[0] = g.outcome(i, theta)
		dst = dst[1:]
	}
}

// outcome returns a new outcome for record number i among the loaded ones.
func (g *outcomeGenerator) outcome(i int, theta []float64) float64 {
	eta := g.eta
	g.m.predict(eta, g.loaded, i, theta)
	if at := g.m.layout.scale; at >= 0 {
		eta = append(eta, theta[at])
	}
	z := [2]float64(g.normals[2*(i%ir.Block):])
	y := g.drawn.Outcome(eta, z)
	switch g.m.Study.Model.Kind() {
	case study.Measured:
		return g.m.Study.Unscale(g.column, y)
	case study.Class:
		return y + 1
	}
	return y
}
