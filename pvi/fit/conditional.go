package fit

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// A Conditional holds the expected outcomes of made-up records that differ in one column at a time.
// It depends on records only through the posterior.
type Conditional struct {
	Names     []string // one, or a probability for each class
	Reference []Held   // values shared by all made-up records
	Rows      []Expected
}

// A Held describes the value of a column in a made-up record.
type Held struct{ Column, Value, Unit string }

// An Expected is a made-up record with its expected outcome.
type Expected struct {
	Held            // column in which the record differs from the reference
	Of   []Quantity // expected values in the order of Names; without a spread if there is no finite mean
}

const (
	conditionalPoints = 5  // number of values of a numeric column, evenly spaced between its bounds
	mostConditional   = 30 // largest number of columns in which records differ
	mostLevels        = 20 // largest number of levels of a column in which records differ
	mostParameters    = 1000
)

// Conditional returns the expected outcomes of records in which one column varies. A numeric column
// takes 5 values, and any other column takes each of its levels. The other columns stay in the
// middle of their bounds, or at their first level. Bounds from a standardisation replace the
// declared ones.
//
// For a program, the expected outcomes are the quantities of a record whose names end in _expected.
//
// There are at most 30 columns, with at most 20 levels each. Columns without an effect on the
// expected outcome are left out. The result is nil if no column remains, if the model has no
// expected outcome, or if it has more than 1,000 parameters, which take long to draw.
func (m *Model) Conditional(q Posterior) (*Conditional, error) {
	st := m.Study
	if m.Dim() > mostParameters || st.Model.Program == nil && st.Model.Kind() == study.NoOutcome {
		return nil, nil
	}
	outcome := st.ColumnIndex(st.Model.Outcome)
	columns := slices.DeleteFunc(st.Modelled(), func(i int) bool { return i == outcome || len(st.Columns[i].Levels) > mostLevels })
	columns = columns[:min(len(columns), mostConditional)]
	made := &shard.New{Records: new(shard.Records), Absent: make([]bool, len(st.Columns))}
	if outcome >= 0 { // a formula names no outcome, and its expected outcome does not depend on it
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

// scaled returns a copy of c with the bounds of its scale, which a standardisation may have
// narrowed.
func scaled(c *study.Column) *study.Column {
	narrow, b := *c, c.Scale()
	narrow.Low, narrow.High = b.Low, b.High
	return &narrow
}

// expectedOf returns the names and indices of the expected values among a record's quantities. In a
// program their names end in _expected. In a family they are all but the log density and a new
// outcome.
func expectedOf(st *study.Study, quantities []string) (names []string, at []int) {
	for i, name := range quantities {
		if strings.HasSuffix(name, "_expected") || st.Model.Program == nil && name != logLikelihood && !strings.HasSuffix(name, "_rep") {
			names, at = append(names, name), append(at, i)
		}
	}
	return names, at
}

// middle returns the value of a column in the reference record: the middle of the transformed
// bounds, rounded for counts, or the first level.
func middle(st *study.Study, column int) float64 {
	c := &st.Columns[column]
	if c.Type != study.Numeric {
		return 0
	}
	return whole(st, column, scaled(c).Edges(2)[1:2])[0]
}

// valuesOf returns the values of a column for which expected outcomes are computed: equally spaced,
// or all levels.
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

// whole rounds increasing values if the column has whole numbers, and removes repetitions.
func whole(st *study.Study, column int, values []float64) []float64 {
	if !st.Counts(column) {
		return values
	}
	for i, x := range values {
		values[i] = math.Round(x)
	}
	return slices.Compact(values)
}

// held describes the value x of a column. A number has four significant digits.
func held(c *study.Column, x float64) Held {
	switch {
	case c.Type != study.Numeric:
		return Held{Column: c.Name, Value: c.Levels[int(x)]}
	case c.Dated:
		return Held{Column: c.Name, Value: c.Text(x)}
	}
	return Held{c.Name, strconv.FormatFloat(x, 'g', 4, 64), c.Unit}
}

// differ reports whether the expected values differ between records.
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
