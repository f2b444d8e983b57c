// Package describe defines the release of tables that describe the records of a study: counts by
// level, histograms, means and sds, for all records and by the levels of one column. A [Layout]
// defines a record's vector, and [Layout.Summary] computes estimates and intervals from the noisy
// sums.
//
// # The release
//
// A record adds a vector to the sum. It has an element for each cell of a described column, and two
// more for each numeric column. These are not zero:
//
//   - 1 in the cell of its level, of its bin, or of missing values;
//   - if the value is a number, v/√2 and (2v²−1)/√2, where v is the value on the scale on which the
//     public bounds are −1 and 1. Means and sds follow from their sums, without the error of bins.
//
// If a column divides the tables, each of its levels has its own cells, and a record adds only to
// the cells of its level. Each column adds 1 to the squared norm of a vector. A number v adds
// another
//
//	(v² + (2v²−1)²)/2,
//
// which is at most 1 and is 1 at the bounds. So the squared norm is at most the number of columns
// plus the number of numeric columns ([Layout.Norm]).
package describe

import (
	"math"
	"slices"

	"fedpvi/pvi/study"
)

// A Layout defines the elements of the vectors of a study's records.
type Layout struct {
	columns []column
	by      *column // column whose levels divide the tables, or nil
	groups  int     // number of levels of by, and one more if its values may be missing; otherwise 1
	size    int
	norm    float64
}

// A column is a described column, with its place in the vectors. Its elements for the first group
// of records come first, then those for the second, and so on.
type column struct {
	*study.Column
	first   int
	edges   []float64 // edges of the bins of a numeric column
	cells   int       // number of bins or levels, and one more if values may be missing
	missing int       // cell of missing values, or −1
}

func (c *column) width() int {
	if c.edges == nil {
		return c.cells
	}
	return c.cells + 2
}

// New returns the layout of a study, which must ask for tables.
func New(st *study.Study) *Layout {
	d := st.Describe
	l := &Layout{groups: 1}
	if d.By >= 0 {
		by := newColumn(&st.Columns[d.By], 0)
		l.by, l.groups = &by, by.cells
	}
	var squares float64
	for _, i := range d.Columns {
		c := newColumn(&st.Columns[i], d.Bins)
		c.first = l.size
		l.size += c.width() * l.groups
		if squares++; c.edges != nil {
			squares++
		}
		l.columns = append(l.columns, c)
	}
	l.norm = math.Sqrt(squares)
	return l
}

func newColumn(of *study.Column, bins int) column {
	c := column{Column: of, cells: len(of.Levels), missing: -1}
	if of.Type == study.Numeric {
		c.edges, c.cells = of.Edges(bins), bins
	}
	if of.Missing == study.Impute {
		c.missing = c.cells
		c.cells++
	}
	return c
}

// Size returns the number of elements of a vector.
func (l *Layout) Size() int { return l.size }

// Norm returns an upper bound on the L2 norm of a vector.
func (l *Layout) Norm() float64 { return l.norm }

// Vector writes the vector of a record to dst. values holds its values of the described columns,
// and then of the column that divides the tables, if any. A missing value is NaN.
func (l *Layout) Vector(dst, values []float64) {
	clear(dst)
	group := 0
	if l.by != nil {
		group = l.by.cell(values[len(l.columns)])
	}
	for k := range l.columns {
		c, x := &l.columns[k], values[k]
		own := dst[c.first+group*c.width():][:c.width()]
		own[c.cell(x)] = 1
		if c.edges != nil && !math.IsNaN(x) {
			v := c.scaled(x)
			own[c.cells], own[c.cells+1] = v*moment, (2*v*v-1)*moment
		}
	}
}

// moment is the factor of the elements v and 2v² − 1, which give the mean and the sd of a column.
// For v in [−1, 1], both together have a norm of at most 1.
const moment = 1 / math.Sqrt2

// cell returns the cell that counts a value. A bin contains its lower edge, and the last bin both
// edges.
func (c *column) cell(x float64) int {
	switch {
	case math.IsNaN(x) && c.missing >= 0:
		return c.missing
	case c.edges == nil:
		return min(max(int(x), 0), len(c.Levels)-1)
	}
	at, found := slices.BinarySearch(c.edges, x)
	if !found {
		at--
	}
	return min(max(at, 0), len(c.edges)-2)
}

// scaled maps the column's bounds to −1 and 1, and values beyond them too.
func (c *column) scaled(x float64) float64 {
	return min(max((x-c.middle())/c.half(), -1), 1)
}

func (c *column) middle() float64 { return c.Low + (c.High-c.Low)/2 }
func (c *column) half() float64   { return (c.High - c.Low) / 2 }
