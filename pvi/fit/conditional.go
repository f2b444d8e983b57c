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
// It depends on the records of the study only through the posterior.
type Conditional struct {
	Names     []string // names of the expected values: one, or a probability for each class
	Reference []Held   // values of the columns that are the same in all made-up records
	Rows      []Expected
}

// A Held names a column and its value in a made-up record of a [Conditional], in words.
type Held struct{ Column, Value, Unit string }

// An Expected is a row of a [Conditional]: a made-up record with the posterior of its expected
// outcome.
type Expected struct {
	Held            // column in which the record differs from the reference
	Of   []Quantity // posteriors of the expected values, in the order of Names; a posterior without a spread has no finite mean
}

const (
	conditionalPoints = 5  // number of values of a numeric column, evenly spaced between its bounds
	mostConditional   = 30 // largest number of columns in which records differ
	mostLevels        = 20 // largest number of levels of a column in which records differ
	mostParameters    = 1000
)

// Conditional returns the expected outcomes of records in which one column varies. A numeric column
// takes 5 values, and any other column takes each of its levels. Meanwhile all other numeric
// columns are in the middle of their bounds, and all other columns with levels have their first
// level. If a standardisation has found narrower bounds, these bounds replace the declared bounds.
//
// The expected outcomes of a program are the quantities of a record whose names end in _expected.
//
// The result has at most 30 columns, each of at most 20 levels. The result lacks columns on which
// the expected outcome does not depend. The result is nil in three cases: no column remains, the
// model has no expected outcome, or the model has more than 1,000 parameters, which take long to
// draw.
func (m *Model) Conditional(q Posterior) (*Conditional, error) {
	st := m.Study
	if m.Dim() > mostParameters || st.Model.Program == nil && st.Model.Kind() == study.NoOutcome {
		return nil, nil
	}
	outcome := st.ColumnIndex(st.Model.Outcome)
	columns := slices.DeleteFunc(st.Modelled(), func(i int) bool { return i == outcome || len(st.Columns[i].Levels) > mostLevels })
	columns = columns[:min(len(columns), mostConditional)]
	made := &shard.New{Records: new(shard.Records), Absent: make([]bool, len(st.Columns))}
	if outcome >= 0 { // a formula names no column as its outcome, and its expected outcome does not depend on the outcome
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
	err = predicted.Each(func(_ int, quantities []Quantity, _ float64) error {
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

// scaled returns a copy of c whose bounds are those of the column's scale. They are narrower than
// the declared bounds if a standardisation has found narrower ones.
func scaled(c *study.Column) *study.Column {
	narrow, b := *c, c.Scale()
	narrow.Low, narrow.High = b.Low, b.High
	return &narrow
}

// expectedOf selects the quantities of a record that are expected values, and returns their names
// and indices. For a program these are the quantities whose names end in _expected. For a family
// these are all quantities except the log density and a new outcome: the probabilities of classes,
// or one expected value.
func expectedOf(st *study.Study, quantities []string) (names []string, at []int) {
	for i, name := range quantities {
		if strings.HasSuffix(name, "_expected") || st.Model.Program == nil && name != logLikelihood && !strings.HasSuffix(name, "_rep") {
			names, at = append(names, name), append(at, i)
		}
	}
	return names, at
}

// middle returns the value of a column in the reference record. For a numeric column this is the
// middle of the bounds after the column's transform, rounded if the values of the column are
// counts. For a column with levels it is the first level.
func middle(st *study.Study, column int) float64 {
	c := &st.Columns[column]
	if c.Type != study.Numeric {
		return 0
	}
	return whole(st, column, scaled(c).Edges(2)[1:2])[0]
}

// valuesOf returns the values of a column for which expected outcomes are computed: equally spaced
// values between the bounds of a numeric column, or all levels.
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

// whole rounds values if the values of the column must be whole numbers, and then removes repeated
// ones. The argument values must be in increasing order.
func whole(st *study.Study, column int, values []float64) []float64 {
	if !st.Counts(column) {
		return values
	}
	for i, x := range values {
		values[i] = math.Round(x)
	}
	return slices.Compact(values)
}

// held returns the value x of a column in words. A number has four significant digits.
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
