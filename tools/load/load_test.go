package main

import (
	"math"
	"testing"
	"time"

	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// The study must have at least as many coefficients as requested, but not many more.
func TestStudyHasCoefficients(t *testing.T) {
	for _, want := range []int{4, 100, 1000} {
		st, err := study.Parse("load.toml", document("load", want, 3, options{}))
		if err != nil {
			t.Fatal(err)
		}
		p, err := session.Public(st, []pvi.ClientID{"north", "south"})
		if err != nil {
			t.Fatal(err)
		}
		if d := p.Model().Dim(); d < want || float64(d) > float64(want)+2*math.Sqrt(float64(want))+8 {
			t.Errorf("%d coefficients, not %d", d, want)
		}
	}
}

// In the first case, the averages of all time intervals lie on a line. In the second, the first
// average lies above the line. The values also vary within each interval, which must not affect the
// trend.
func TestTrend(t *testing.T) {
	const points = 10
	var at, y []float64
	for i := range stretches * points {
		at = append(at, float64(i))
		y = append(y, 3+0.5*float64(i)+5*float64(i%2*2-1))
	}
	if got := trendOf(at, y); math.Abs(got.slope-0.5) > 1e-12 || got.deviation > 1e-12 {
		t.Errorf("the trend of a line is %v", got)
	}
	for i := range points {
		y[i] += 12
	}
	// If time is measured in intervals, the centres of the intervals are -5.5 to 5.5, and the sum
	// of their squares is 143. The first average is 12 above the line.
	slope := 0.5 - 12*5.5/143/points
	rest := 12*12*(1-1./12) - 5.5*5.5*12*12/143.
	if got := trendOf(at, y); math.Abs(got.slope-slope) > 1e-12 || math.Abs(got.deviation-math.Sqrt(rest/10/143)/points) > 1e-12 {
		t.Errorf("the trend is %v", got)
	}
}

func TestQuantile(t *testing.T) {
	var all []time.Duration
	for i := range 100 {
		all = append(all, time.Duration(i+1)*time.Second)
	}
	for q, want := range map[float64]time.Duration{0.5: 51 * time.Second, 0.99: 100 * time.Second, 1: 100 * time.Second} {
		if got := quantile(all, q); got != want {
			t.Errorf("quantile %g is %v, want %v", q, got, want)
		}
	}
}
