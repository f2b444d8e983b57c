package report

import "testing"

// The bytes of a deal, of the columns and of the opening were computed by hand from the formula in
// docs/prove/secure-sums.md, which the tests of package sums check.
func TestSizesOfSecure(t *testing.T) {
	for _, c := range []struct {
		clients, fewest, numbers, h int
		deal, columns, opening      string
	}{
		{3, 3, 1e3, 2, "0.6 kB", "0.3 kB", "24.2 kB"},
		{3, 3, 1e6, 2, "0.6 kB", "0.3 kB", "24.0 MB"},
		{10, 8, 1e3, 5, "11.4 kB", "11.7 kB", "21.9 kB"},
		{10, 8, 1e6, 5, "10.7 MB", "10.7 MB", "21.3 MB"},
		{100, 80, 1e3, 59, "17.5 kB", "25.6 kB", "36.0 kB"},
		{1000, 800, 1e3, 599, "32.6 kB", "118.8 kB", "84.8 kB"},
		{1000, 800, 1e6, 599, "15.9 MB", "16.0 MB", "31.9 MB"},
	} {
		s := sizesOfSecure(c.clients, c.fewest, c.numbers)
		if size(s.Deal) != c.deal || size(s.Columns) != c.columns || size(s.Opening) != c.opening || s.Hidden != c.h || s.Missing != c.clients-c.fewest {
			t.Errorf("%d clients, %d numbers: %+v, want %s, %s and %s", c.clients, c.numbers, s, c.deal, c.columns, c.opening)
		}
	}
}
