// Package shard reads a client's records as the study declares them, and turns each record into the
// row of numbers that the model needs.
//
// The study alone determines how records are read. An error message names the file, the line, the
// column and the remedy, but never the value, because the value is private.
package shard

import "fedpvi/pvi/study"

// Records is a table of decoded values. It has a column for each column that the study declares. A
// value is a number or the index of a level.
type Records struct {
	columns int
	len     int         // number of rows
	values  [][]float64 // one slice for every perPart rows, because a single slice would have to be copied whenever it grew
	// whether each value was missing, in slices like those of values; nil if none was, or if no tables
	// need to know
	missing [][]bool
	people  []string // person that each row belongs to; nil if each row counts as a person
	empty   int      // number of records that were left out but still count, see leaveOut
}

// perPart is the number of rows in each slice of Records.values. The last slice may have fewer.
const perPart = 1 << 12

// leaveOut is called for each record that is left out. If batches have a fixed size, the number of
// records is public, but it is private how many of them fit. leaveOut then counts an empty record,
// which adds zero to every sum. In other studies, and in version 1, it does nothing.
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

// rowOf returns row i of a table divided among parts.
func rowOf[T any](parts [][]T, i, columns int) []T {
	at := i % perPart * columns
	return parts[i/perPart][at : at+columns]
}

// appendRow adds a row to a table of n rows divided among parts.
func appendRow[T any](parts [][]T, n int, row []T) [][]T {
	if n%perPart > 0 {
		parts[len(parts)-1] = append(parts[len(parts)-1], row...)
		return parts
	}
	var part []T
	if n > 0 { // all parts but the first get their full size at once; the first one grows, because most tables are small
		part = make([]T, 0, perPart*len(row))
	}
	return append(parts, append(part, row...))
}

// Append adds a record, with one value for each declared column.
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

// missed returns the columns in which record i had no value.
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

// AppendFor adds a record that belongs to the given person. It must be used for either all records
// of a table or none.
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

// Select returns the records with the given row numbers, in this order.
func (r *Records) Select(rows []int) *Records {
	chosen := &Records{columns: r.columns}
	for _, i := range rows {
		chosen.add(r, i)
	}
	return chosen
}
