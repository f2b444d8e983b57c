// Package shard reads a client's records as the study declares them, and turns each record into
// the row of numbers that the model needs.
//
// The way of reading does not depend on the data: separators, levels, bounds and the policies
// for values that are missing or out of bounds come from the study. An error gives file, line,
// column and remedy. It never gives the value, because the value is private.
package shard

// Records is a table of decoded values. It has a row for each record and a column for each
// declared column of the study. A value is a number, or the index of a level if the column is
// categorical or ordered.
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

// Select returns the records at the given rows, in the order of rows.
func (r *Records) Select(rows []int) *Records {
	chosen := &Records{columns: r.columns, values: make([]float64, 0, len(rows)*r.columns)}
	for _, i := range rows {
		chosen.values = append(chosen.values, r.Row(i)...)
	}
	return chosen
}
