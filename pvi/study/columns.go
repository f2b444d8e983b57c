package study

import (
	"math"
	"slices"
	"strconv"

	"fedpvi/internal/calendar"
	"fedpvi/internal/document"
)

// ColumnType is the type of a column's values.
type ColumnType string

const (
	Numeric     ColumnType = "numeric"     // values are numbers within public bounds
	Categorical ColumnType = "categorical" // values are declared levels
	Ordered     ColumnType = "ordered"     // values are declared levels in increasing order, with scores 0, 1, 2, ...

	// date is the type of a date column in a study file. Parse turns such a column into a Numeric
	// column of years ([Column.Dated]), so no [Column] has this type.
	date ColumnType = "date"
)

// A Policy says how to treat a missing value, or a value that does not fit its column.
type Policy string

const (
	Refuse Policy = "refuse" // return an error for the file
	Drop   Policy = "drop"   // leave out the record
	Clamp  Policy = "clamp"  // use the nearest bound
	Impute Policy = "impute" // use the declared public value
)

// A Column is a column that every file of records must have.
type Column struct {
	Name    string
	Type    ColumnType
	Unit    string   // unit of a numeric column, for reports
	Low     float64  // public lower bound of a numeric column; 0 for an ordered column
	High    float64  // public upper bound of a numeric column; number of levels − 1 for an ordered column
	Levels  []string // levels of a categorical or ordered column
	Outside Policy   // how to treat a number out of bounds or an undeclared level: Refuse (default), Drop, or Clamp if the column is numeric
	Missing Policy   // how to treat a missing value: Refuse (default), Drop or Impute
	Imputed string   // replacement for missing values if Missing is Impute, written as in a file

	Found *Bounds // narrower bounds found by a [Standardisation], or nil

	// Transform is applied to a numeric column before scaling. Scaling then maps the transformed
	// bounds to −1 and 1 or, if Spread is not 0, subtracts Centre and divides by Spread.
	Transform      Transform
	Centre, Spread float64

	// Dated is true if the values are dates. Bounds and values are then the years that have passed
	// since the day Since.
	Dated bool
	Since calendar.Day
}

// A Transform is an increasing function that is applied to a numeric column.
type Transform string

const (
	Log   Transform = "log"   // natural logarithm; bounds must be positive
	Log1p Transform = "log1p" // log(1 + x); bounds must be above −1
)

// Of applies the transform to x.
func (f Transform) Of(x float64) float64 {
	switch f {
	case Log:
		return math.Log(x)
	case Log1p:
		return math.Log1p(x)
	}
	return x
}

func (f Transform) inverse(y float64) float64 {
	switch f {
	case Log:
		return math.Exp(y)
	case Log1p:
		return math.Expm1(y)
	}
	return y
}

// Numerical reports whether the values of the column are used as numbers.
func (c *Column) Numerical() bool { return c.Type != Categorical }

// mapped returns the bounds after the transform. Scaling maps them to −1 and 1.
func (c *Column) mapped() (low, high float64) {
	b := c.Scale()
	return c.Transform.Of(b.Low), c.Transform.Of(b.High)
}

// Middle returns the transformed value that scaling maps to 0. The scaled value is (transformed
// value − Middle)/Half. For values within the bounds it lies in [−1, 1], unless the study gives a
// centre and a spread.
func (c *Column) Middle() float64 {
	if c.Spread > 0 {
		return c.Centre
	}
	low, high := c.mapped()
	return low + (high-low)/2
}

// Half returns the distance from Middle that scaling maps to 1.
func (c *Column) Half() float64 {
	if c.Spread > 0 {
		return c.Spread
	}
	low, high := c.mapped()
	return (high - low) / 2
}

// Column looks up a column by name.
func (s *Study) Column(name string) (*Column, bool) {
	i := s.ColumnIndex(name)
	if i < 0 {
		return nil, false
	}
	return &s.Columns[i], true
}

// ColumnIndex returns the index in Columns of the column with the given name, or −1 if no column
// has that name.
func (s *Study) ColumnIndex(name string) int {
	return slices.IndexFunc(s.Columns, func(c Column) bool { return c.Name == name })
}

const maxColumns, maxLevels = 10_000, 10_000

func readColumns(s *Study, root *document.Table) {
	tables := root.Tables("column")
	if len(tables) == 0 {
		root.Errorf("column", "no column is declared: begin each with [[column]]")
	}
	if len(tables) > maxColumns {
		root.Errorf("column", "%d columns are declared; at most %d are allowed", len(tables), maxColumns)
		return
	}
	seen := map[string]bool{}
	for _, t := range tables {
		c := readColumn(t)
		if c.Name != "" && seen[c.Name] {
			t.Errorf("name", "column %q is declared twice", c.Name)
		}
		seen[c.Name] = true
		s.Columns = append(s.Columns, c)
	}
}

func readColumn(t *document.Table) Column {
	var c Column
	t.Require("name", `write name = "age"`)
	c.Name, _ = t.String("name")
	if t.Has("name") && (c.Name == Intercept || !columnName.MatchString(c.Name)) {
		t.Errorf("name", "%q cannot be used in a term: use letters, digits, '.', '_' and '-'", c.Name)
	}
	t.Require("type", `write type = "numeric", "date", "categorical" or "ordered"`)
	readChoice(t, "type", &c.Type, Numeric, date, Categorical, Ordered)
	switch c.Type {
	case Numeric:
		readBounds(t, &c)
		c.Unit, _ = t.String("unit")
		visible(t, "unit", c.Unit)
		readScaling(t, &c)
	case date:
		readDates(t, &c)
	case Categorical, Ordered:
		readLevels(t, &c)
	}
	if !c.Dated {
		refuse(t, "since", `is used only with type = "date"`)
	}
	c.Outside = Refuse
	policies := []Policy{Refuse, Drop}
	if c.Type == Numeric {
		policies = append(policies, Clamp)
	}
	readChoice(t, "outside", &c.Outside, policies...)
	readMissing(t, &c)
	return c
}

func readBounds(t *document.Table, c *Column) {
	t.Require("bounds", "write the smallest and the largest value that a record may have, bounds = [0, 120]; they are public and must not be read off private data")
	bounds, ok := t.Floats("bounds")
	if !ok {
		return
	}
	if len(bounds) != 2 || !(bounds[0] < bounds[1]) || math.IsInf(bounds[1]-bounds[0], 0) {
		t.Errorf("bounds", "must be two numbers, the lower first, got %v", bounds)
		return
	}
	c.Low, c.High = bounds[0], bounds[1]
}

func readScaling(t *document.Table, c *Column) {
	if readChoice(t, "transform", &c.Transform, Log, Log1p) {
		if low := c.Transform.Of(c.Low); math.IsNaN(low) || math.IsInf(low, 0) {
			t.Errorf("transform", "%s of the lower bound %g is not finite: raise the bound", c.Transform, c.Low)
		}
	}
	c.Centre, _ = t.Float("centre")
	readPositive(t, "spread", &c.Spread)
	if t.Has("centre") != t.Has("spread") {
		t.Errorf("spread", "write centre and spread together: they are public constants, and a value is scaled to (value − centre)/spread")
	}
}

func readLevels(t *document.Table, c *Column) {
	t.Require("levels", `write every value that a record may have, levels = ["no", "yes"]; they are public`)
	levels, ok := t.Strings("levels")
	if !ok {
		return
	}
	if len(levels) < 2 || len(levels) > maxLevels {
		t.Errorf("levels", "a column needs between 2 and %d levels, got %d", maxLevels, len(levels))
		return
	}
	seen := map[string]bool{}
	for _, l := range levels {
		if seen[l] {
			t.Errorf("levels", "level %q is declared twice", l)
		}
		seen[l] = true
		visible(t, "levels", l)
	}
	c.Levels = levels
	c.High = float64(len(levels) - 1)
}

func readMissing(t *document.Table, c *Column) {
	c.Missing = Refuse
	readChoice(t, "missing", &c.Missing, Refuse, Drop, Impute)
	if c.Missing != Impute {
		refuse(t, "impute", `is used only with missing = "impute"`)
		return
	}
	t.Require("impute", "write the public value that stands in for a missing one")
	if c.Dated {
		readImputedDay(t, c)
		return
	}
	if c.Type == Numeric {
		v, ok := t.Float("impute")
		if ok && (v < c.Low || v > c.High) {
			t.Errorf("impute", "%g is outside the bounds [%g, %g]", v, c.Low, c.High)
		}
		c.Imputed = strconv.FormatFloat(v, 'g', -1, 64)
		return
	}
	v, ok := t.String("impute")
	if ok && !slices.Contains(c.Levels, v) {
		t.Errorf("impute", "%q is not among the levels", v)
	}
	c.Imputed = v
}
