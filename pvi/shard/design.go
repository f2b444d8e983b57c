package shard

import (
	"math"
	"slices"

	"fedpvi/pvi/study"
)

// A Shard holds the records of one client as regressors and outcomes on the model's scale.
type Shard struct {
	dim    int
	x      []float64
	y      []float64
	groups []int32 // level of each record in each group term, record after record
	slopes []float64
	ways   int // number of group terms
	steep  int // number of slopes over all group terms

	// first record of each person, followed by the number of records; nil unless the unit is the
	// person
	starts []int32

	described [][]float64 // see Described
}

// Len returns the number of records.
func (s *Shard) Len() int { return len(s.y) }

// Rows returns the index of each person's first record, followed by the number of records.
// [dpmech.SampledConfig] needs this form. If the privacy unit is not the person, Rows returns nil.
func (s *Shard) Rows() []int32 { return s.starts }

// Units returns the number of units (see [Shard.Unit]).
func (s *Shard) Units() int {
	if s.starts == nil {
		return s.Len()
	}
	return len(s.starts) - 1
}

// Unit returns the range of records that belong to unit i, from first to end − 1. A unit is a
// person if that is the privacy unit, and otherwise a record.
func (s *Shard) Unit(i int) (first, end int) {
	if s.starts == nil {
		return i, i + 1
	}
	return int(s.starts[i]), int(s.starts[i+1])
}

// Dim returns the number of regressors of a record.
func (s *Shard) Dim() int { return s.dim }

// Record returns the regressors and the outcome of record i. The regressors are not a copy. The
// outcome is a number on the model's scale, 0 or 1, a count, or the index of a class. For a mixture
// or a program, the outcome is 0 and the regressors are the values of the columns or variables.
func (s *Shard) Record(i int) (x []float64, y float64) {
	return s.x[i*s.dim : (i+1)*s.dim], s.y[i]
}

// Groups returns the values that record i has for the model's group terms. levels has the index of
// the record's group in each term. slopes has the regressors whose slopes vary, for all terms.
func (s *Shard) Groups(i int) (levels []int32, slopes []float64) {
	return s.groups[i*s.ways : (i+1)*s.ways], s.slopes[i*s.steep : (i+1)*s.steep]
}

// Described returns the values that record i has for the study's tables. They are those of the
// columns in [study.Describe], followed by that of the column By if there is one. Missing values
// are NaN. Shards from [Shard.Deal], [Shard.Select] and [Join] do not have these values.
func (s *Shard) Described(i int) []float64 { return s.described[i] }

// describe stores the values of record i for Described.
func (s *Shard) describe(d *study.Describe, records *Records, i int) {
	columns := d.Columns
	if d.By >= 0 {
		columns = append(slices.Clone(columns), d.By)
	}
	values := make([]float64, len(columns))
	for k, c := range columns {
		if values[k] = records.Row(i)[c]; records.missing != nil && rowOf(records.missing, i, records.columns)[c] {
			values[k] = math.NaN()
		}
	}
	s.described = append(s.described, values)
}

// Design converts a client's records to regressors and outcomes on the model's scale. If the study
// protects persons, it uses only the records from [Records.Keep].
func Design(st *study.Study, records *Records) *Shard {
	d := newDesigner(st)
	records = records.Keep(st)
	n := records.Len()
	s := &Shard{
		dim:  d.width(),
		x:    make([]float64, 0, n*d.width()),
		y:    make([]float64, 0, n),
		ways: len(st.Model.Groups),
	}
	if st.Privacy.Unit == study.Person {
		s.starts = records.starts()
	}
	for _, g := range st.Model.Groups {
		s.steep += len(g.Slopes)
	}
	for i := range n {
		d.add(s, records.Row(i))
		if st.Describe != nil {
			s.describe(st.Describe, records, i)
		}
	}
	for range records.empty {
		s.addEmpty()
	}
	return s
}

// addEmpty adds a record whose regressors are NaN. Its gradient is not finite, so it adds zero to
// every sum.
func (s *Shard) addEmpty() {
	s.x = append(s.x, slices.Repeat([]float64{math.NaN()}, s.dim)...)
	s.y = append(s.y, 0)
	s.groups = append(s.groups, make([]int32, s.ways)...)
	s.slopes = append(s.slopes, slices.Repeat([]float64{math.NaN()}, s.steep)...)
}

type designer struct {
	study        *study.Study
	coefficients []study.Coefficient
	variables    []int // indices of the columns of a mixture
	parts        []study.ProgramPart
	outcome      int // −1 for a mixture and a program
}

func newDesigner(st *study.Study) designer {
	d := designer{study: st, coefficients: slices.Collect(st.Coefficients()), outcome: st.ColumnIndex(st.Model.Outcome)}
	for _, name := range st.Model.Variables {
		d.variables = append(d.variables, st.ColumnIndex(name))
	}
	if p := st.Model.Program; p != nil {
		for _, v := range p.Variables {
			d.parts = append(d.parts, v.Parts...)
		}
	}
	return d
}

func (d *designer) width() int { return len(d.coefficients) + len(d.variables) + len(d.parts) }

func (d *designer) add(s *Shard, row []float64) {
	for _, c := range d.coefficients {
		s.x = append(s.x, d.regressor(c, row))
	}
	d.shorten(s.x[len(s.x)-len(d.coefficients):])
	for _, v := range d.variables {
		s.x = append(s.x, d.scaled(v, row))
	}
	for _, p := range d.parts {
		s.x = append(s.x, d.study.Number(p, row))
	}
	s.y = append(s.y, d.outcomeOf(row))
	for _, g := range d.study.Model.Groups {
		s.groups = append(s.groups, int32(row[d.study.ColumnIndex(g.By)]))
		for _, name := range g.Slopes {
			s.slopes = append(s.slopes, d.scaled(d.study.ColumnIndex(name), row))
		}
	}
}

// shorten scales down the regressors of a record if their norm exceeds the study's limit.
func (d *designer) shorten(x []float64) {
	most := d.study.Model.MaxNorm
	if most == 0 {
		return
	}
	var norm float64
	for _, v := range x {
		norm = math.Hypot(norm, v)
	}
	if norm <= most {
		return
	}
	for j := range x {
		x[j] *= most / norm
	}
}

func (d *designer) scaled(column int, row []float64) float64 {
	return d.study.Scale(&d.study.Columns[column], row[column])
}

func (d *designer) outcomeOf(row []float64) float64 {
	m := &d.study.Model
	switch m.Kind() {
	case study.Binary:
		if m.Positive.Of(row[d.outcome]) {
			return 1
		}
		return 0
	case study.Count, study.Class:
		return row[d.outcome]
	case study.NoOutcome:
		return 0
	}
	return d.scaled(d.outcome, row)
}

func (d *designer) regressor(c study.Coefficient, row []float64) float64 {
	product := 1.0
	for _, part := range c.Parts {
		switch {
		case part.Level < 0:
			product *= d.scaled(part.Column, row)
		case int(row[part.Column]) != part.Level:
			return 0
		}
	}
	return product
}
