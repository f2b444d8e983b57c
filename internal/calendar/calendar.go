// Package calendar converts days of the Gregorian calendar to and from numbers and text. It reads
// no clock.
package calendar

import (
	"slices"
	"time"
)

// A Day is a date, as the number of days since 1970-01-01.
type Day int

const secondsPerDay = 24 * 60 * 60

// Parse parses a date such as 2020-12-31.
func Parse(text string) (Day, bool) {
	at, err := time.Parse(time.DateOnly, text)
	return Day(at.Unix() / secondsPerDay), err == nil
}

// String formats the day like 2020-12-31.
func (d Day) String() string {
	return time.Unix(int64(d)*secondsPerDay, 0).UTC().Format(time.DateOnly)
}

// clocks lists formats for the time of day, with and without seconds and a time zone.
var clocks = []string{
	"15:04:05", "15:04:05Z07:00", "15:04:05Z07", "15:04:05Z0700",
	"15:04", "15:04Z07:00", "15:04Z07", "15:04Z0700",
}

// ParseTime parses a date such as 2020-12-31, which may have a time, as in 2020-12-31 23:59:59. It
// checks the time but does not return it.
func ParseTime(text string) (Day, bool) {
	const length = len(time.DateOnly)
	if len(text) <= length {
		return Parse(text)
	}
	day, ok := Parse(text[:length])
	rest := text[length:]
	return day, ok && (rest[0] == 'T' || rest[0] == ' ') && slices.ContainsFunc(clocks, func(layout string) bool {
		_, err := time.Parse(layout, rest[1:])
		return err == nil
	})
}

// Containing returns the day that contains a moment. The moment is units/perSecond seconds after
// 1970-01-01 began. perSecond must be positive.
func Containing(units, perSecond int64) Day {
	perDay := secondsPerDay * perSecond
	day := units / perDay
	if units%perDay < 0 {
		day--
	}
	return Day(day)
}
