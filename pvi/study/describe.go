package study

import (
	"slices"

	"fedpvi/internal/document"
)

// A Describe has the options of the noisy tables that describe the records: counts for each level,
// histograms, and sums that lead to means and standard deviations.
type Describe struct {
	Columns []int   // indices of the described columns, in the order of the study
	By      int     // index of the column that splits the tables, with one table per level; −1 for none
	Bins    int     // number of bins of a histogram; default 10
	Share   float64 // share of the privacy budget; default 0.1, or 1 without a model
}

const (
	maxBins          = 100
	maxDescribed     = 10_000 // largest number of cells in all tables taken together
	maxDescribeShare = 0.9
)

func readDescribe(s *Study, root *document.Table) {
	if !root.Has("describe") {
		return
	}
	t := root.Table("describe")
	d := &Describe{By: -1, Bins: 10, Share: 0.1}
	s.Describe = d
	if s.Version == 1 {
		root.Errorf("describe", "needs version 2 of the study language or a later one: write study.version = 3")
	}
	if by, ok := t.String("by"); ok {
		if d.By = s.ColumnIndex(by); d.By < 0 {
			t.Errorf("by", "column %q is not declared", by)
		} else if s.Columns[d.By].Type == Numeric {
			t.Errorf("by", "column %q is numeric: tables are divided by the levels of a categorical or ordered column", by)
		}
	}
	readDescribed(s, d, t)
	readCount(t, "bins", &d.Bins, maxBins)
	if d.Bins < 2 {
		t.Errorf("bins", "must be at least 2, got %d", d.Bins)
	}
	if s.Model.Absent() {
		refuse(t, "share", "is the share of the budget that the model leaves to the tables, and a study without a model spends its whole budget on them: remove it")
		d.Share = 1
	} else if readPositive(t, "share", &d.Share) && d.Share > maxDescribeShare {
		t.Errorf("share", "must be at most %g, because the model needs the rest of the budget; got %g", maxDescribeShare, d.Share)
	}
	if cells := d.cells(s); cells > maxDescribed {
		t.Errorf("columns", "the tables have %d cells; at most %d are allowed: name fewer columns, or use fewer bins", cells, maxDescribed)
	}
	switch {
	case s.Privacy.Unit == Client:
		root.Errorf("describe", `noise that hides a whole client also hides tables of its records: write privacy.unit = "record" or "person", or leave [describe] out`)
	case s.Privacy.Unit == None:
		root.Errorf("describe", "is released with noise, and the study has none: leave [describe] out")
	case s.Inference.Solver != Scoring && s.Inference.Solver != Tabulate:
		root.Errorf("describe", "tables are part of the sums that solver = %q opens, but the solver of this study is %q: leave [describe] out, or write a model that %q can fit", Scoring, s.Inference.Solver, Scoring)
	}
}

// readDescribed reads which columns the tables describe. By default, these are all columns except
// d.By.
func readDescribed(s *Study, d *Describe, t *document.Table) {
	names, ok := t.Strings("columns")
	if !ok {
		for i := range s.Columns {
			if i != d.By {
				d.Columns = append(d.Columns, i)
			}
		}
	}
	for _, name := range names {
		i := s.ColumnIndex(name)
		switch {
		case i < 0:
			t.Errorf("columns", "column %q is not declared", name)
		case i == d.By:
			t.Errorf("columns", "column %q is in by, so the tables have its counts already: remove it from columns", name)
		case slices.Contains(d.Columns, i):
			t.Errorf("columns", "column %q is named twice", name)
		default:
			d.Columns = append(d.Columns, i)
		}
	}
	if slices.Sort(d.Columns); len(d.Columns) == 0 {
		t.Errorf("columns", "name at least one column that the tables describe, besides the column in by")
	}
}

func (d *Describe) cells(s *Study) (n int) {
	for _, i := range d.Columns {
		if c := &s.Columns[i]; c.Type == Numeric {
			n += d.Bins + 3
		} else {
			n += len(c.Levels) + 1
		}
	}
	if d.By >= 0 {
		n *= len(s.Columns[d.By].Levels) + 1
	}
	return n
}

// Edges returns the edges of n bins between the bounds of a numeric column, in increasing order and
// in the column's unit. The bins have equal widths after the column's transform is applied.
func (c *Column) Edges(n int) []float64 {
	edges := make([]float64, n+1)
	low, high := c.Transform.Of(c.Low), c.Transform.Of(c.High)
	for i := range edges {
		edges[i] = c.Transform.inverse(low + (high-low)*float64(i)/float64(n))
	}
	edges[0], edges[n] = c.Low, c.High
	return edges
}
