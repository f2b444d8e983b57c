package solver

// A Design is the sparse matrix that maps θ to the linear predictors of all records. It has a row
// for each predictor of each record, and a column for each coordinate of θ.
type Design struct {
	start []int32 // row n has the entries start[n] to start[n+1]−1 of index and value
	index []int32 // column of each entry; increasing within a row
	value []float64
}

func (d *Design) add(index int, value float64) {
	if value != 0 {
		d.index, d.value = append(d.index, int32(index)), append(d.value, value)
	}
}

func (d *Design) end() { d.start = append(d.start, int32(len(d.index))) }

// Len returns the number of rows.
func (d *Design) Len() int { return len(d.start) - 1 }

// Row returns the columns and the values of the nonzero entries of row n. The slices are not
// copies.
func (d *Design) Row(n int) (index []int32, value []float64) { return d.Rows(n, 1) }

// Rows returns the columns and the values of the nonzero entries of rows n to n+k−1.
func (d *Design) Rows(n, k int) (index []int32, value []float64) {
	from, to := d.start[n], d.start[n+k]
	return d.index[from:to], d.value[from:to]
}

// Values returns the nonzero entries of all rows, in order.
func (d *Design) Values() []float64 { return d.value }
