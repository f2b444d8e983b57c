// Package shard reads a client's records as the study declares them, and turns each record into
// the row of numbers that the model needs.
//
// Only the study determines how records are read: it gives the separators, the levels, the bounds
// and the policies for values that are missing or out of bounds. A message gives file, line,
// column and remedy. It never gives the value, because the value is private.
package shard

import "fedpvi/pvi/study"

// Records is a table of decoded values. It has a row for each record and a column for each
// declared column of the study. A value is a number, or the index of a level if the column is
// categorical or ordered.
type Records struct {
	columns int
	values  []float64
	missing []bool   // whether each value was missing; nil if none was, or if the study has no tables
	people  []string // name of each row's person; nil if every row is a person of its own
	empty   int      // number of records without values, which count as records and add nothing
}

// leaveOut counts a record that is left out as an empty record if the study's batches have a fixed
// size. The size and the cost of such a batch depend on the number of records, which is public
// under the study's adjacency. The number of records that fit is private. In other studies, and in
// studies of version 1, leaveOut does nothing.
func (r *Records) leaveOut(st *study.Study) {
	if st.Version > 1 && st.Inference.Descent.Sampling == study.WithoutReplacement {
		r.empty++
	}
}

// Fitting returns the records that are not empty.
func (r *Records) Fitting() *Records {
	fitting := *r
	fitting.empty = 0
	return &fitting
}

// Len returns the number of records that are not empty.
func (r *Records) Len() int {
	if r.columns == 0 {
		return 0
	}
	return len(r.values) / r.columns
}

// Row returns record i. The slice is not a copy.
func (r *Records) Row(i int) []float64 {
	return r.values[i*r.columns : (i+1)*r.columns]
}

// Append adds a record, one value for each declared column.
func (r *Records) Append(row []float64) {
	r.columns = len(row)
	r.values = append(r.values, row...)
	r.fillMissing()
}

// fillMissing marks newly added values as not missing. It does nothing if r.missing is nil.
func (r *Records) fillMissing() {
	if r.missing != nil {
		r.missing = append(r.missing, make([]bool, len(r.values)-len(r.missing))...)
	}
}

// markMissing notes that the values of the last record in the given columns were missing in the
// file.
func (r *Records) markMissing(columns []int) {
	if len(columns) > 0 && r.missing == nil {
		r.missing = make([]bool, len(r.values))
	}
	for _, c := range columns {
		r.missing[len(r.values)-r.columns+c] = true
	}
}

// AppendFor adds a record of the named person. Either all records of a table must be added by
// AppendFor, or none.
func (r *Records) AppendFor(person string, row []float64) {
	r.Append(row)
	r.people = append(r.people, person)
}

// AppendAll adds all records of another table.
func (r *Records) AppendAll(other *Records) {
	r.empty += other.empty
	if other.Len() == 0 {
		return
	}
	if r.Len() > 0 && (r.people == nil) != (other.people == nil) {
		panic("shard: records with and without persons in one table")
	}
	r.columns = other.columns
	if other.missing != nil && r.missing == nil {
		r.missing = make([]bool, len(r.values))
	}
	r.values = append(r.values, other.values...)
	if r.missing = append(r.missing, other.missing...); r.missing != nil {
		r.fillMissing()
	}
	r.people = append(r.people, other.people...)
}

// Select returns the records at the given rows, in the order of rows.
func (r *Records) Select(rows []int) *Records {
	chosen := &Records{columns: r.columns, values: make([]float64, 0, len(rows)*r.columns)}
	for _, i := range rows {
		chosen.values = append(chosen.values, r.Row(i)...)
		if r.missing != nil {
			chosen.missing = append(chosen.missing, r.missing[i*r.columns:(i+1)*r.columns]...)
		}
		if r.people != nil {
			chosen.people = append(chosen.people, r.people[i])
		}
	}
	return chosen
}
