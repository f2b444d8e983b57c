package study

import (
	"fmt"
	"math"
	"strconv"

	"fedpvi/internal/calendar"
	"fedpvi/internal/document"
)

// daysPerYear is the mean length of a year if every fourth year is a leap year.
const daysPerYear = 365.25

// Years converts a day to a value of a date column: the number of years since the day Since.
func (c *Column) Years(day calendar.Day) float64 {
	return float64(day-c.Since) / daysPerYear
}

// Day returns the day closest to a value of a date column.
func (c *Column) Day(years float64) calendar.Day {
	return c.Since + calendar.Day(math.Round(years*daysPerYear))
}

// Text formats a value of a numeric column as it would appear in a file of records. In a date
// column that is a day such as 2020-12-31, in other columns the shortest decimal number that is
// read as x.
func (c *Column) Text(x float64) string {
	if c.Dated {
		return c.Day(x).String()
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// whole reports whether a numeric column can hold whole numbers: its bounds are whole, it has no
// transform, and its values are not dates.
func (c *Column) whole() bool {
	return c.Transform == "" && !c.Dated && c.Low == math.Trunc(c.Low) && c.High == math.Trunc(c.High)
}

// asDay converts a TOML value such as 2020-12-31, with or without quotes, to a day.
func asDay(value any) (calendar.Day, bool) {
	return calendar.Parse(fmt.Sprint(value))
}

// readDates reads the keys of a date column and turns it into a numeric column of years.
func readDates(t *document.Table, c *Column) {
	c.Type, c.Dated = Numeric, true
	refuseAll(t, []string{"unit", "transform", "centre", "spread"}, "belongs to a numeric column: the value of a date is the number of years from the day in since")
	t.Require("since", `write the public day from which years are counted, since = "2020-01-01"`)
	t.Require("bounds", `write the first and the last day that a record may have, bounds = ["2015-01-01", "2024-12-31"]; they are public and must not be read off private data`)
	if value, ok := t.Value("since"); ok {
		if day, ok := asDay(value); ok {
			c.Since = day
		} else {
			t.Errorf("since", `must be a day, such as "2020-01-01"`)
		}
	}
	c.Unit = "years since " + c.Since.String()
	value, ok := t.Value("bounds")
	if !ok {
		return
	}
	if bounds, _ := value.([]any); len(bounds) == 2 {
		low, first := asDay(bounds[0])
		high, last := asDay(bounds[1])
		if first && last && low < high {
			c.Low, c.High = c.Years(low), c.Years(high)
			return
		}
	}
	t.Errorf("bounds", `must be two days, the earlier first, such as ["2015-01-01", "2024-12-31"]`)
}

func readImputedDay(t *document.Table, c *Column) {
	value, ok := t.Value("impute")
	if !ok {
		return
	}
	day, ok := asDay(value)
	switch x := c.Years(day); {
	case !ok:
		t.Errorf("impute", `must be a day, such as "2020-01-01"`)
	case x < c.Low || x > c.High:
		t.Errorf("impute", "the day is outside the bounds")
	}
	c.Imputed = day.String()
}
