package page

import (
	"math"
	"strings"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/study"
)

// expected is a row of the table of conditional effects, for one made-up record.
type expected struct {
	Column, Value  string // Column is empty if it is that of the row before
	Name           string // empty if there is only one expected value
	Of             *fit.Spread
	Low, Mid, High float64 // interval and mean as positions from 0 to 1 on the axis of a picture
}

// Expected returns the rows of the table of conditional effects, without values that have no finite
// expectation.
func (v *view) Expected() (rows []expected) {
	low, high, before := math.Inf(1), math.Inf(-1), ""
	for _, r := range v.Conditional.Rows {
		for i, q := range r.Of {
			if q.Spread == nil {
				continue
			}
			row := expected{Column: r.Column, Value: valued(r.Held), Of: q.Spread}
			if len(r.Of) > 1 {
				row.Name = v.Conditional.Names[i]
			}
			if before == r.Column {
				row.Column = ""
			}
			before, low, high = r.Column, min(low, q.Lower), max(high, q.Upper)
			rows = append(rows, row)
		}
	}
	for i, r := range rows {
		at := func(x float64) float64 { return (x - low) / (high - low) }
		rows[i].Low, rows[i].Mid, rows[i].High = at(r.Of.Lower), at(r.Of.Mean), at(r.Of.Upper)
	}
	return rows
}

// Expectation describes the expected value in words.
func (v *view) Expectation() string {
	m := v.Study().Model
	outcome, positive := m.Outcome, ""
	switch {
	case m.Program != nil && len(v.Conditional.Names) > 1:
		return "Expected values that the program generates"
	case m.Program != nil:
		outcome, positive = outcomeOf(v.Study(), strings.TrimSuffix(v.Conditional.Names[0], "_expected"))
	case m.Kind() == study.Binary:
		positive = m.Positive.Text
	}
	switch {
	case len(v.Conditional.Names) > 1:
		return "Probability of each level of " + outcome
	case positive != "":
		return "Probability that " + outcome + " is " + positive
	}
	return "Expected " + outcome
}

// outcomeOf returns the column behind a variable of a program, and the condition positive if the
// variable is an indicator. Otherwise it returns the name of the variable.
func outcomeOf(st *study.Study, variable string) (column, positive string) {
	for _, v := range st.Model.Program.Variables {
		if v.Name == variable && len(v.Parts) == 1 {
			part := v.Parts[0]
			if part.Is != nil {
				positive = part.Is.Text
			}
			return st.Columns[part.Column].Name, positive
		}
	}
	return variable, ""
}

// Reference lists the values that all made-up records share.
func (v *view) Reference() string {
	var all []string
	for _, h := range v.Conditional.Reference {
		all = append(all, h.Column+" "+valued(h))
	}
	return strings.Join(all, ", ")
}

func valued(h fit.Held) string { return strings.TrimSpace(h.Value + " " + h.Unit) }
