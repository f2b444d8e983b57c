// Package shard reads a client's records as the study declares them, and turns each record into the
// row of numbers that the model needs.
//
// Only the study determines how records are read: it gives the separators, the levels, the bounds
// and the policies for values that are missing or out of bounds. An error message names the file,
// the line, the column and the remedy, but never the value, because the value is private.
package shard

import "fedpvi/pvi/study"

// Records is a table of decoded values. It has a row for each record and a column for each declared
// column of the study. A value is a number or, if the column is categorical or ordered, the index
// of a level.
type Records struct {
	columns int
	len     int         // number of rows
	values  [][]float64 // values, in one slice for every perPart rows; a single slice would be copied whenever it grew
	// whether each value was missing in the file, in slices like values; nil if none was, or if the
	// study has no tables that describe records
	missing [][]bool
	people  []string // name of each row's person; nil if every row is a person of its own
	empty   int      // number of records that were left out but still count, see leaveOut
}

// perPart is the number of rows in each slice of Records.values but the last.
const perPart = 1 << 12

// leaveOut is called for a record that is left out. If the study's batches have a fixed size,
// leaveOut counts it as an empty record, which later adds zero to every sum. The size and the cost
// of such a batch depend on the number of records, which must therefore be public. The number of
// records that fit is private. In other studies, and in studies of version 1, leaveOut does
// nothing.
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
func (r *Records) Len() int { return r.len }

// Row returns record i. The slice is not a copy.
func (r *Records) Row(i int) []float64 { return rowOf(r.values, i, r.columns) }

// rowOf returns row i of a table whose rows are divided among the slices in parts.
func rowOf[T any](parts [][]T, i, columns int) []T {
	at := i % perPart * columns
	return parts[i/perPart][at : at+columns]
}

// appendRow adds a row to a table of n rows that are divided among the slices in parts.
func appendRow[T any](parts [][]T, n int, row []T) [][]T {
	if n%perPart > 0 {
		parts[len(parts)-1] = append(parts[len(parts)-1], row...)
		return parts
	}
	var part []T
	if n > 0 { // later parts have their full size at once; the first grows, because most tables are small
		part = make([]T, 0, perPart*len(row))
	}
	return append(parts, append(part, row...))
}

// Append adds a record, one value for each declared column.
func (r *Records) Append(row []float64) {
	r.columns = len(row)
	r.values = appendRow(r.values, r.len, row)
	if r.missing != nil {
		r.missing = appendRow(r.missing, r.len, make([]bool, len(row)))
	}
	r.len++
}

// markMissing stores which values of record i were missing and have been replaced.
func (r *Records) markMissing(i int, columns []int) {
	if len(columns) > 0 && r.missing == nil {
		none := make([]bool, r.columns)
		for n := range r.len {
			r.missing = appendRow(r.missing, n, none)
		}
	}
	for _, c := range columns {
		rowOf(r.missing, i, r.columns)[c] = true
	}
}

// missed returns the indices of the columns for which the file had no value of record i.
func (r *Records) missed(i int) (columns []int) {
	if r.missing == nil {
		return nil
	}
	for c, missing := range rowOf(r.missing, i, r.columns) {
		if missing {
			columns = append(columns, c)
		}
	}
	return columns
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
	for i := range other.Len() {
		r.add(other, i)
	}
}

// add adds record i of another table.
func (r *Records) add(other *Records, i int) {
	r.Append(other.Row(i))
	r.markMissing(r.len-1, other.missed(i))
	if other.people != nil {
		r.people = append(r.people, other.people[i])
	}
}

// Select returns the records with the given row numbers, in the order of rows.
func (r *Records) Select(rows []int) *Records {
	chosen := &Records{columns: r.columns}
	for _, i := range rows {
		chosen.add(r, i)
	}
	return chosen
}
