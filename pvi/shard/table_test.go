package shard_test

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fedpvi/internal/table"
	"fedpvi/pvi/shard"
)

const cellsSource = `
study = { version = 2, name = "cells" }
table = { missing = ["", "NaN"] }
model = { family = "linear", outcome = "y", noise_sd = 1, terms = ["x", "site"], standardise = "none" }
inference = { rounds = 4 }
privacy = { unit = "none" }
[[column]]
name = "x"
type = "numeric"
bounds = [-1e6, 1e6]
outside = "clamp"
missing = "impute"
impute = 2.5
[[column]]
name = "site"
type = "categorical"
levels = ["1", "2", "true"]
missing = "drop"
[[column]]
name = "y"
type = "numeric"
bounds = [-1e6, 1e6]
`

// cells is a table in memory.
type cells struct {
	rows [][]table.Cell
	row  int
}

func (c *cells) Columns() []string { return []string{"x", "site", "y"} }
func (c *cells) Unit() string      { return "row" }

func (c *cells) Row() int { return c.row }

func (c *cells) Next() ([]table.Cell, error) {
	if c.row == len(c.rows) {
		return nil, io.EOF
	}
	c.row++
	return c.rows[c.row-1], nil
}

// It makes no difference to the records whether values are stored as numbers, as text with a
// decimal point, or as text with a decimal comma.
func TestFormOfValuesDoesNotMatter(t *testing.T) {
	st := parsed(t, cellsSource)
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-10, 10), rapid.SampledFrom([]float64{0, 1, 2, math.NaN(), math.Inf(1), 1e6, 5e-324}))
		values := rapid.SliceOfN(rapid.SliceOfN(number, 3, 3), 1, 8).Draw(t, "values")
		typed, text, comma := &cells{}, "x,site,y\n", "x;site;y\n"
		for _, row := range values {
			var own []table.Cell
			var spelled []string
			for _, x := range row {
				own = append(own, table.Cell{Kind: table.Number, Number: x})
				spelled = append(spelled, strconv.FormatFloat(x, 'f', -1, 64))
			}
			typed.rows = append(typed.rows, own)
			text += strings.Join(spelled, ",") + "\n"
			comma += strings.ReplaceAll(strings.Join(spelled, ";"), ".", ",") + "\n"
		}
		want, wantReport, err := shard.Read("records", strings.NewReader(text), st)
		check(t, err)
		german, err := table.NewCSV(strings.NewReader(comma), table.Format{Header: true, Separator: ';', Comma: true})
		check(t, err)
		for name, rows := range map[string]table.Reader{"numbers": typed, "decimal commas": german} {
			got, report, err := shard.ReadTable("records", rows, st)
			check(t, err)
			for i := range max(got.Len(), want.Len()) {
				if got.Len() != want.Len() || !slices.Equal(got.Row(i), want.Row(i)) {
					t.Fatalf("%s: %d records, want %d, or record %d differs", name, got.Len(), want.Len(), i)
				}
			}
			report.First, wantReport.First = nil, nil // line numbers are different in a text file
			if diff := cmp.Diff(wantReport, report); diff != "" {
				t.Fatalf("%s: report (-want +got):\n%s", name, diff)
			}
		}
	})
}

// An empty cell is a missing value.
func TestMissingCells(t *testing.T) {
	st := parsed(t, cellsSource)
	none, one := table.Cell{Kind: table.Missing}, table.Cell{Kind: table.Number, Number: 1}
	records, report, err := shard.ReadTable("cells", &cells{rows: [][]table.Cell{{none, one, one}, {one, none, one}, {one, one, none}}}, st)
	check(t, err)
	if records.Len() != 1 || records.Row(0)[0] != 2.5 {
		t.Errorf("%d records are kept, want the one with the imputed value", records.Len())
	}
	if report.Dropped["site"] != 1 || report.Dropped["y"] != 1 || report.Refused != 1 || report.Imputed["x"] != 1 {
		t.Errorf("report: %+v", report)
	}
}

// A table with too many rows is refused, even if all of them are left out. A small damaged file may
// claim to have any number of rows.
func TestTooManyRows(t *testing.T) {
	st := parsed(t, cellsSource)
	number := func(x float64) table.Cell { return table.Cell{Kind: table.Number, Number: x} }
	for _, row := range [][]table.Cell{
		{number(1), number(2), number(3)},             // is kept
		{number(1), {Kind: table.Missing}, number(3)}, // is dropped
		{number(1), number(9), number(3)},             // 9 is not a level of the column site
	} {
		for n := range 6 {
			_, err := shard.ReadAtMost(4, "records", &cells{rows: slices.Repeat([][]table.Cell{row}, n)}, st)
			if (err == nil) != (n <= 4) {
				t.Errorf("%d rows, at most 4: %v", n, err)
			}
		}
	}
}
