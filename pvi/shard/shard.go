// Package shard reads a data holder's records as the study declares them and
// turns each into the row of numbers that the model sees.
//
// Nothing is guessed and nothing is learned from the data: separators, levels,
// bounds and what happens to a value that is missing or out of bounds come from
// the study. An error names file, line and column and what to change, and never
// the value, which is private.
package shard

import "fedpvi/pvi/study"

// Records is a table of decoded values, one row a record, one column a declared
// column of the study: the number of a numeric column, the index of the level
// of a categorical or ordered one.
type Records struct {
	columns int
	values  []float64
}

// Len returns the number of records.
func (r *Records) Len() int {
	if r.columns == 0 {
		return 0
	}
	return len(r.values) / r.columns
}

// Row returns record i. It is not a copy.
func (r *Records) Row(i int) []float64 {
	return r.values[i*r.columns : (i+1)*r.columns]
}

// Append adds a record, one value for each declared column.
func (r *Records) Append(row []float64) {
	r.columns = len(row)
	r.values = append(r.values, row...)
}

// Select returns the records at the given rows, in that order.
func (r *Records) Select(rows []int) *Records {
	chosen := &Records{columns: r.columns, values: make([]float64, 0, len(rows)*r.columns)}
	for _, i := range rows {
		chosen.values = append(chosen.values, r.Row(i)...)
	}
	return chosen
}

// A Shard is the records of one client as the model sees them: regressors and
// outcome on the model's scale.
type Shard struct {
	dim int
	x   []float64
	y   []float64
}

// Len returns the number of records.
func (s *Shard) Len() int { return len(s.y) }

// Dim returns the number of regressors of a record.
func (s *Shard) Dim() int { return s.dim }

// Record returns the regressors, not a copy, and the outcome of record i.
func (s *Shard) Record(i int) (x []float64, y float64) {
	return s.x[i*s.dim : (i+1)*s.dim], s.y[i]
}

// Design computes the regressors and outcomes of records.
func Design(st *study.Study, records *Records) *Shard {
	coefficients := st.Coefficients()
	outcome := st.ColumnIndex(st.Model.Outcome)
	n := records.Len()
	s := &Shard{
		dim: len(coefficients),
		x:   make([]float64, 0, n*len(coefficients)),
		y:   make([]float64, 0, n),
	}
	for i := range n {
		row := records.Row(i)
		for _, c := range coefficients {
			s.x = append(s.x, regressor(st, c, row))
		}
		s.y = append(s.y, st.Scale(&st.Columns[outcome], row[outcome]))
	}
	return s
}

func regressor(st *study.Study, c study.Coefficient, row []float64) float64 {
	product := 1.0
	for _, part := range c.Parts {
		value := row[part.Column]
		switch {
		case part.Level < 0:
			product *= st.Scale(&st.Columns[part.Column], value)
		case int(value) != part.Level:
			return 0
		}
	}
	return product
}
