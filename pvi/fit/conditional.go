package fit

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// A Conditional holds expected outcomes of made-up records that differ from a reference in one
// column each. It depends on real records only through the posterior.
type Conditional struct {
	Names     []string // a single name, or one for each class
	Reference []Held   // values that all made-up records have in common, except in the column that varies
	Rows      []Expected
}

// A Held is the value of a column in a made-up record, as text.
type Held struct{ Column, Value, Unit string }

// An Expected is a made-up record together with its expected outcome.
type Expected struct {
	Held            // the column that differs from the reference, and its value
	Of   []Quantity // expected values in the order of Names; without a Spread if the mean is infinite
}

const (
	conditionalPoints = 5  // number of values tried for a numeric column, evenly spaced between its bounds
	mostConditional   = 30 // largest number of columns that are varied
	mostLevels        = 20 // largest number of levels in a column that is varied
	mostParameters    = 1000
)

// Conditional returns the expected outcomes of records in which one column is varied. In a numeric
// column it tries 5 values, and in any other column each level. The other columns stay in the
// middle of their bounds or at their first level. If a standardisation found narrower bounds, it
// uses those.
//
// For a program, the expected outcomes are the quantities of a record whose names end in _expected.
//
// Conditional varies at most 30 columns with at most 20 levels each, and leaves out columns that do
// not affect the expected outcome. It returns nil if no column is left or if the model has no
// expected outcome. It also returns nil for more than 1,000 parameters, because drawing those would
// take long.
func (m *Model) Conditional(q Posterior) (*Conditional, error) {
	st := m.Study
	if m.Dim() > mostParameters || st.Model.Program == nil && st.Model.Kind() == study.NoOutcome {
		return nil, nil
	}
	outcome := st.ColumnIndex(st.Model.Outcome)
	columns := slices.DeleteFunc(st.Modelled(), func(i int) bool { return i == outcome || len(st.Columns[i].Levels) > mostLevels })
	columns = columns[:min(len(columns), mostConditional)]
	made := &shard.New{Records: new(shard.Records), Absent: make([]bool, len(st.Columns))}
	if outcome >= 0 { // a formula does not say which column is the outcome, and its expected outcome does not depend on that column
		made.Absent[outcome] = true
	}
	reference := make([]float64, len(st.Columns))
	for i := range st.Columns {
		reference[i] = middle(st, i)
	}
	for _, i := range columns {
		for _, x := range valuesOf(st, i) {
			row := slices.Clone(reference)
			row[i] = x
			made.Append(row)
		}
	}
	if made.Len() == 0 {
		return nil, nil
	}
	predicted, err := m.PredictNew(made, q)
	if err != nil {
		return nil, err
	}
	names, at := expectedOf(st, predicted.Quantities)
	if len(at) == 0 {
		return nil, nil
	}
	var all [][]Quantity
	err = predicted.Each(func(_ int, quantities []Quantity, _ LogDensity) error {
		expected := make([]Quantity, len(at))
		for k, i := range at {
			expected[k] = quantities[i]
		}
		all = append(all, expected)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &Conditional{Names: names}
	for _, i := range columns {
		c := &st.Columns[i]
		at := valuesOf(st, i)
		if some := all[:len(at)]; differ(some) {
			out.Reference = append(out.Reference, held(c, reference[i]))
			for k, x := range at {
				out.Rows = append(out.Rows, Expected{held(c, x), some[k]})
			}
		}
		all = all[len(at):]
	}
	if out.Rows == nil {
		return nil, nil
	}
	return out, nil
}

// scaled returns a copy of c whose bounds are those used for scaling. A standardisation may have
// narrowed them.
func scaled(c *study.Column) *study.Column {
	narrow, b := *c, c.Scale()
	narrow.Low, narrow.High = b.Low, b.High
	return &narrow
}

// expectedOf finds the expected values among the quantities of a record, and returns their names
// and indices. In a program, their names end in _expected. In a family, they are all quantities
// except the log density and a new outcome.
func expectedOf(st *study.Study, quantities []string) (names []string, at []int) {
	for i, name := range quantities {
		if strings.HasSuffix(name, "_expected") || st.Model.Program == nil && name != logLikelihood && !strings.HasSuffix(name, "_rep") {
			names, at = append(names, name), append(at, i)
		}
	}
	return names, at
}

// middle returns the value of a column in the reference record. This is the middle of the
// transformed bounds, rounded for counts, or the first level.
func middle(st *study.Study, column int) float64 {
	c := &st.Columns[column]
	if c.Type != study.Numeric {
		return 0
	}
	return whole(st, column, scaled(c).Edges(2)[1:2])[0]
}

// valuesOf returns the values of a column to try: equally spaced ones, or all levels.
func valuesOf(st *study.Study, column int) []float64 {
	c := &st.Columns[column]
	if c.Type == study.Numeric {
		return whole(st, column, scaled(c).Edges(conditionalPoints-1))
	}
	levels := make([]float64, len(c.Levels))
	for i := range levels {
		levels[i] = float64(i)
	}
	return levels
}

// whole rounds values, which are increasing, if the column must contain whole numbers, and removes
// duplicates.
func whole(st *study.Study, column int, values []float64) []float64 {
	if !st.Counts(column) {
		return values
	}
	for i, x := range values {
		values[i] = math.Round(x)
	}
	return slices.Compact(values)
}

// held returns the value x of a column as text. Numbers get four significant digits.
func held(c *study.Column, x float64) Held {
	switch {
	case c.Type != study.Numeric:
		return Held{Column: c.Name, Value: c.Levels[int(x)]}
	case c.Dated:
		return Held{Column: c.Name, Value: c.Text(x)}
	}
	return Held{c.Name, strconv.FormatFloat(x, 'g', 4, 64), c.Unit}
}

// differ reports whether the expected values of the records are not all the same.
func differ(all [][]Quantity) bool {
	for _, one := range all[1:] {
		for i, q := range one {
			if (q.Spread == nil) != (all[0][i].Spread == nil) || q.Spread != nil && *q.Spread != *all[0][i].Spread {
				return true
			}
		}
	}
	return false
}
