package study_test

import (
	"fmt"
	"strings"
	"testing"

	"fedpvi/internal/calendar"
)

const datesSource = `study = { version = 2, name = "dates" }
model = { family = "linear", outcome = "y", noise_sd = 1, terms = ["enrolled"], standardise = "none" }
privacy = { unit = "none" }
[[column]]
name = "enrolled"
type = "date"
since = "2020-01-01"
bounds = ["1582-10-15", "2399-12-31"]
missing = "impute"
impute = "2021-03-01"
[[column]]
name = "y"
type = "numeric"
bounds = [0, 9]
`

// julianDay returns the Julian day number of a Gregorian date, by the formula of Fliegel and Van
// Flandern, Communications of the ACM 11 (1968), 657.
func julianDay(y, m, d int) int {
	shift := (m - 14) / 12
	return d - 32075 + 1461*(y+4800+shift)/4 + 367*(m-2-12*shift)/12 - 3*((y+4900+shift)/100)/4
}

// The value of a date is the number of days since the declared day, divided by 365.25. Writing a
// day as text and reading it again does not change its value.
func TestYears(t *testing.T) {
	c := &parse(t, datesSource).Columns[0]
	for _, d := range [][3]int{{2020, 1, 1}, {2024, 1, 1}, {2019, 12, 31}, {2020, 2, 29}, {1900, 3, 1}, {1582, 10, 15}, {2399, 12, 31}} {
		day := calendar.Day(julianDay(d[0], d[1], d[2]) - julianDay(1970, 1, 1))
		want := float64(julianDay(d[0], d[1], d[2])-julianDay(2020, 1, 1)) / 365.25
		if got := c.Years(day); got != want || c.Years(c.Day(got)) != got || c.Text(got) != fmt.Sprintf("%d-%02d-%02d", d[0], d[1], d[2]) {
			t.Errorf("%v is %v years, want %v; it is written as %s", d, got, want, c.Text(got))
		}
	}
	if c.Low >= c.High || c.Text(c.Low) != "1582-10-15" || c.Text(c.High) != "2399-12-31" || c.Unit != "years since 2020-01-01" || c.Imputed != "2021-03-01" {
		t.Errorf("the column is %+v", c)
	}
	bare := strings.NewReplacer(`"2020-01-01"`, "2020-01-01", `["1582-10-15", "2399-12-31"]`, "[1582-10-15, 2399-12-31]", `"2021-03-01"`, "2021-03-01").Replace(datesSource)
	if again := parse(t, bare).Columns[0]; again.Low != c.Low || again.High != c.High || again.Imputed != c.Imputed {
		t.Errorf("dates without quotes: %+v", again)
	}
}

// Dates cannot be the outcome of a count model, even if the bounds are a whole number of years
// apart.
func TestDatesAreNoCounts(t *testing.T) {
	text := strings.NewReplacer(`"linear", outcome = "y", noise_sd = 1`, `"poisson", outcome = "enrolled"`, `terms = ["enrolled"]`, `terms = ["y"]`,
		"1582-10-15", "2020-01-01", "2399-12-31", "2024-01-01").Replace(datesSource)
	expect(t, text, "does not have counts")
}

func TestWrongDates(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`since = "2020-01-01"`, "", "t.toml:4:3: column.1.since: is missing: write the public day"},
		{`since = "2020-01-01"`, "since = 2020", `t.toml:7:1: column.1.since: must be a day, such as "2020-01-01"`},
		{`"2020-01-01"`, `"01.01.2020"`, `must be a day, such as`},
		{`"1582-10-15", `, "", `t.toml:8:1: column.1.bounds: must be two days`},
		{"1582-10-15", "2400-01-01", `must be two days, the earlier first`},
		{`["1582-10-15", "2399-12-31"]`, "[0, 5]", `must be two days`},
		{"2399-12-31", "2399-02-29", `must be two days`},
		{`bounds = ["1582-10-15", "2399-12-31"]`, "", `column.1.bounds: is missing: write the first and the last day`},
		{`impute = "2021-03-01"`, "impute = 3", `column.1.impute: must be a day`},
		{`"2021-03-01"`, `"2400-01-01"`, `column.1.impute: the day is outside the bounds`},
		{"missing =", "unit = \"years\"\nmissing =", `column.1.unit: belongs to a numeric column`},
		{"missing =", "transform = \"log\"\nmissing =", `column.1.transform: belongs to a numeric column`},
		{"bounds = [0, 9]", "bounds = [0, 9]\nsince = \"2020-01-01\"", `column.2.since: is used only with type = "date"`},
	} {
		expect(t, edit(datesSource, c.old, c.new), c.want)
	}
}

func TestEventOfDates(t *testing.T) {
	for positive, want := range map[string]string{
		">= 2021-01-01": "", "< 2021-01-01": "", "> 3": "has dates, write", ">= 2500-01-01": "is the same for every value",
	} {
		text := strings.NewReplacer(`"linear", outcome = "y", noise_sd = 1`, `"logistic", outcome = "enrolled", positive = "`+positive+`"`, `terms = ["enrolled"]`, `terms = ["y"]`).Replace(datesSource)
		st := expect(t, text, want)
		if st == nil {
			continue
		}
		before, after := 365/365.25, 366/365.25 // values of 2020-12-31 and 2021-01-01
		if later := positive[0] == '>'; st.Model.Positive.Of(after) != later || st.Model.Positive.Of(before) == later {
			t.Errorf("%s does not divide at the day", positive)
		}
	}
}
