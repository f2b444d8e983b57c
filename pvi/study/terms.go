package study

import (
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"
)

// Intercept is the name of the constant term and of its coefficient.
const Intercept = "intercept"

// A Term is a product of columns, such as "sex:length". The empty product stands for the intercept.
type Term struct {
	Columns []string
}

func (t Term) String() string {
	if len(t.Columns) == 0 {
		return Intercept
	}
	return strings.Join(t.Columns, ":")
}

const (
	maxInteraction = 8      // largest number of columns in a term
	maxTerms       = 10_000 // largest number of entries in a list of terms
)

// expandTerms returns the terms that entries such as "a", "a:b" and "a*b" stand for, in order and
// without duplicates. "a*b" is short for a + b + a:b.
func expandTerms(entries []string) ([]Term, error) {
	var terms []Term
	seen := map[string]bool{}
	add := func(columns []string) {
		key := strings.Join(slices.Sorted(slices.Values(columns)), ":") // a:b and b:a are the same term
		if !seen[key] {
			terms = append(terms, Term{Columns: columns})
		}
		seen[key] = true
	}
	if len(entries) > maxTerms {
		return nil, fmt.Errorf("%d terms are written; at most %d are allowed", len(entries), maxTerms)
	}
	for _, entry := range entries {
		if strings.Count(entry, "*") >= maxInteraction {
			return nil, fmt.Errorf("%.60q crosses too many columns, at most %d are possible", entry, maxInteraction)
		}
		var sets [][]string // products of the columns in all earlier factors
		for _, factor := range strings.Split(entry, "*") {
			columns := strings.Split(factor, ":")
			for i, c := range columns {
				if columns[i] = strings.TrimSpace(c); columns[i] == "" {
					return nil, fmt.Errorf(`%q is not a term: write a column, "a:b" for an interaction or "a*b" for both columns and their interaction`, entry)
				}
			}
			expanded := [][]string{columns}
			for _, s := range sets {
				expanded = append(expanded, append(slices.Clone(s), columns...))
			}
			sets = append(sets, expanded...)
		}
		slices.SortStableFunc(sets, func(a, b []string) int { return len(a) - len(b) })
		for _, s := range sets {
			if len(s) > maxInteraction {
				return nil, fmt.Errorf("%q has an interaction of %d columns, at most %d are possible", entry, len(s), maxInteraction)
			}
			for i, c := range s {
				if slices.Contains(s[:i], c) {
					return nil, fmt.Errorf("%q contains %q twice", entry, c)
				}
			}
			add(s)
		}
	}
	return terms, nil
}

// A Coefficient is an element of θ, together with the columns whose product is its regressor.
type Coefficient struct {
	Name  string // name, such as "intercept", "length" or "sex[F]:length"
	Parts []Part // factors of the regressor, one per column; empty for the intercept
}

// A Part is one factor of a regressor. It is the value of a numerical column, or the indicator of
// one level of a categorical column.
type Part struct {
	Column int // index into Study.Columns
	Level  int // index into the levels of the column, or −1 for a numerical column
}

// Coefficients returns the elements of θ in order: the intercept first, then the terms in the order
// of the document. Unless the model is one-hot, the first level of a column is the baseline and has
// no coefficient.
func (s *Study) Coefficients() iter.Seq[Coefficient] {
	return func(yield func(Coefficient) bool) {
		for _, term := range s.Model.Terms {
			var of [][]Part // possible factors of the regressor, for each column of the term
			for _, name := range term.Columns {
				of = append(of, s.parts(s.ColumnIndex(name)))
			}
			if !s.products(of, make([]Part, 0, len(of)), yield) {
				return
			}
		}
	}
}

// products yields the coefficients of a term whose regressors begin with the factors in chosen. of
// holds the choices for each remaining column. The last column varies fastest. If yield returns
// false, products stops and returns false.
func (s *Study) products(of [][]Part, chosen []Part, yield func(Coefficient) bool) bool {
	if len(of) == 0 {
		return yield(Coefficient{s.ProductName(chosen), slices.Clone(chosen)})
	}
	for _, part := range of[0] {
		if !s.products(of[1:], append(chosen, part), yield) {
			return false
		}
	}
	return true
}

// ProductName returns the name of the coefficient that belongs to a product of factors.
func (s *Study) ProductName(parts []Part) string {
	if len(parts) == 0 {
		return Intercept
	}
	names := make([]string, len(parts))
	for i, p := range parts {
		c := &s.Columns[p.Column]
		if names[i] = c.Name; p.Level >= 0 {
			names[i] += "[" + c.Levels[p.Level] + "]"
		}
	}
	return strings.Join(names, ":")
}

func (s *Study) parts(column int) []Part {
	c := &s.Columns[column]
	if c.Numerical() {
		return []Part{{Column: column, Level: -1}}
	}
	var parts []Part
	for level := range c.Levels {
		if level > 0 || s.Model.OneHot {
			parts = append(parts, Part{Column: column, Level: level})
		}
	}
	return parts
}

// Scale maps a value of a numerical column to the model's scale. Values beyond the bounds of a
// standardisation are first moved to the nearest bound.
func (s *Study) Scale(c *Column, value float64) float64 {
	zero, unit := s.Line(c)
	scaled := (c.Transform.Of(value) - zero) / unit
	if c.Found != nil {
		return min(max(scaled, -1), 1)
	}
	return scaled
}

// Unscale is the inverse of Scale.
func (s *Study) Unscale(c *Column, scaled float64) float64 {
	zero, unit := s.Line(c)
	return c.Transform.inverse(zero + unit*scaled)
}

// Line returns the linear map from a column's transformed values to the model's scale: it maps zero
// to 0, and zero + unit to 1.
func (s *Study) Line(c *Column) (zero, unit float64) {
	if !s.Model.Standardise {
		return 0, 1
	}
	return c.Middle(), c.Half()
}

// maxAbs returns the largest absolute value of a numerical column on the model's scale.
func (s *Study) maxAbs(c *Column) float64 {
	if s.Model.Standardise && c.Spread == 0 {
		return 1
	}
	return max(math.Abs(s.Scale(c, c.Low)), math.Abs(s.Scale(c, c.High)))
}

// RegressorBounds returns public upper bounds on Σx² and Σx⁴ over the regressors x of a record.
// Only one level of a categorical column applies to a record, so at most one regressor of a term is
// not zero. The key max_norm can lower the bounds.
func (s *Study) RegressorBounds() (squares, fourths float64) {
	for _, term := range s.Model.Terms {
		largest := 1.0
		for _, name := range term.Columns {
			if c, _ := s.Column(name); c.Numerical() {
				largest *= s.maxAbs(c)
			}
		}
		squares += largest * largest
		fourths += largest * largest * largest * largest
	}
	if most := s.Model.MaxNorm * s.Model.MaxNorm; most > 0 {
		squares, fourths = min(squares, most), min(fourths, most*most)
	}
	return squares, fourths
}

// TypicalSquares returns a public estimate of Σx² over the regressors x of a typical record. It
// assumes that columns are independent, that all levels are equally frequent, and that the mean
// squares are those of [Study.meanSquare].
func (s *Study) TypicalSquares() (squares float64) {
	for _, term := range s.Model.Terms {
		product := 1.0
		for _, name := range term.Columns {
			c, _ := s.Column(name)
			switch {
			case c.Numerical():
				product *= s.meanSquare(c)
			case !s.Model.OneHot:
				product *= 1 - 1/float64(len(c.Levels)) // the first level has no indicator
			}
		}
		squares += product
	}
	if most := s.Model.MaxNorm * s.Model.MaxNorm; most > 0 {
		squares = min(squares, most)
	}
	return squares
}

// meanSquare estimates the mean square of a numerical column on the model's scale. If neither a
// standardisation nor a spread determines it, values are assumed to be uniform between the bounds.
func (s *Study) meanSquare(c *Column) float64 {
	low, high := s.Scale(c, c.Low), s.Scale(c, c.High)
	even := (low*low + low*high + high*high) / 3
	switch {
	case c.Found != nil:
		return 1 / (s.Standardisation.SDs * s.Standardisation.SDs)
	case s.Model.Standardise && c.Spread > 0:
		return min(even, 1)
	}
	return even
}

// OutcomeBound returns a public upper bound on the absolute value of the outcome, on the model's
// scale.
func (s *Study) OutcomeBound() float64 {
	c, _ := s.Column(s.Model.Outcome)
	switch s.Model.Kind() {
	case Binary:
		return 1
	case Count, Class:
		return c.High
	case NoOutcome:
		return 0
	}
	return s.maxAbs(c)
}

// OutcomeUnit returns the factor that converts a difference between outcomes from the model's scale
// to the unit of the column, after the column's transform. It is 1 for outcomes that are not
// numbers on the model's scale.
func (s *Study) OutcomeUnit() float64 {
	if s.Model.Kind() != Measured {
		return 1
	}
	c, _ := s.Column(s.Model.Outcome)
	_, unit := s.Line(c)
	return unit
}

// columnName matches column names that can be used in a term, and [Intercept].
var columnName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,200}$`)
