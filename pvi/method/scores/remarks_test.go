package scores

import (
	"strings"
	"testing"
)

func TestClippedRecordsAreAtMostAll(t *testing.T) {
	for _, c := range []struct {
		clipped, sd, records float64
		want                 string
	}{
		{200, 50, 6000, "between 102 and 298 of some 6000 records"},
		{20, 50, 6000, "between 0 and 118 of some 6000 records"},
		{-300, 50, 6000, "between 0 and 0 of some 6000 records"},
		{200, 300, 15, "between 0 and 15 of some 15 records"},
		{2000, 300, 15, "between 15 and 15 of some 15 records"},
	} {
		if got := clippedRecords(c.clipped, c.sd, c.records); !strings.Contains(got, c.want) {
			t.Errorf("clippedRecords(%v, %v, %v) = %q, want %q", c.clipped, c.sd, c.records, got, c.want)
		}
	}
}

func TestDispersionHasNoEmptyInterval(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{{2.1, 3.2, "Poisson distribution (between 2.1 and 3.2, 95 %)."}, {2.7, 2.7, "Poisson distribution. "}} {
		if got := dispersion(2.7, c.low, c.high); !strings.Contains(got, c.want) {
			t.Errorf("dispersion(2.7, %v, %v) = %q, want %q", c.low, c.high, got, c.want)
		}
	}
}
