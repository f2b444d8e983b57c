package shard_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedpvi/internal/table"
	"fedpvi/pvi/shard"
)

const datesSource = `study = { version = 2, name = "dates" }
table = { missing = ["", "-"] }
model = { family = "linear", outcome = "y", noise_sd = 1, terms = ["enrolled"], standardise = "none" }
privacy = { unit = "none" }
[[column]]
name = "enrolled"
type = "date"
since = "2020-01-01"
bounds = ["2019-01-01", "2024-01-01"]
missing = "impute"
impute = "2022-01-01"
[[column]]
name = "y"
type = "numeric"
bounds = [0, 9]
`

// The value of a date is the number of years since the declared day; the time of day is ignored.
// The days in the test were counted by hand.
func TestDates(t *testing.T) {
	st := parsed(t, datesSource)
	var text strings.Builder
	text.WriteString("enrolled,y\n")
	var want []float64
	for _, v := range []struct {
		text string
		days float64
	}{
		{"2020-01-01", 0},
		{"2020-03-01", 60},
		{"2021-03-01", 366 + 59},
		{"2019-01-01", -365},
		{"2024-01-01", 1461},
		{"2020-01-02T23:59:59", 1},
		{"2020-01-02 00:00:00.250", 1},
		{"2020-01-02 23:30", 1},
		{"2020-01-02 23:30:00+02", 1},
		{"2020-01-02T23:30:00Z", 1},
		{"2020-01-02T23:30:00-05:30", 1},
		{"-", 366 + 365},
	} {
		text.WriteString(v.text + ",1\n")
		want = append(want, v.days/365.25)
	}
	fit := len(want)
	none := []string{"31.12.2020", "2021-02-29", "2020-1-5", "20200105", "2020-01-05x", "2020-01-05T25:00:00", "2020-01-05T", "43831", "2020-13-01"}
	for _, v := range append(none, "2018-12-31", "2024-01-02", "2400-01-01") {
		text.WriteString(v + ",1\n")
	}
	rows, err := table.NewCSV(strings.NewReader(text.String()), shard.Format(st))
	check(t, err)
	records, found, err := shard.Examine("dates.csv", rows, st, "")
	check(t, err)
	var got []float64
	for i := range records.Len() {
		got = append(got, records.Row(i)[0])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("years (-want +got):\n%s", diff)
	}
	counts := map[shard.Problem]int{}
	for _, f := range found.Findings {
		counts[f.Problem] += f.Count
	}
	if diff := cmp.Diff(map[shard.Problem]int{shard.Missing: 1, shard.NoDate: len(none), shard.Outside: 3}, counts); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	sameAfterWriting(t, st, records)

	_, report, err := shard.Read("dates.csv", strings.NewReader(text.String()), st)
	if err != nil || report.First == nil {
		t.Fatalf("%+v, %v", report, err)
	}
	if want := "column enrolled: the value is not a date such as 2020-12-31"; report.First.Line != 2+fit || !strings.Contains(report.First.Error(), want) {
		t.Errorf("got %q, want %q", report.First, want)
	}
}

// A number is not accepted as a date, although spreadsheets may store dates as numbers.
func TestNumbersAreNoDates(t *testing.T) {
	st := parsed(t, datesSource)
	rows := &datedCells{cells{rows: [][]table.Cell{
		{{Kind: table.Number, Number: 1}, {Kind: table.Number, Number: 1}},
		{{Text: "2021-01-01"}, {Kind: table.Number, Number: 1}},
	}}}
	records, report, err := shard.ReadTable("cells", rows, st)
	if err != nil || records.Len() != 1 || report.Refused != 1 {
		t.Errorf("%d records, %+v: %v", records.Len(), report, err)
	}
}

type datedCells struct{ cells }

func (*datedCells) Columns() []string { return []string{"enrolled", "y"} }
