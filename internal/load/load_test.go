package main

import (
	"math"
	"testing"
	"time"

	"fedpvi/pvi"
	"fedpvi/pvi/stage"
	"fedpvi/pvi/study"
)

// The study has at least as many coefficients as were asked for, and few more.
func TestTheStudyIsAsWideAsWanted(t *testing.T) {
	for _, want := range []int{4, 100, 1000} {
		st, err := study.Parse("load.toml", document("load", want, 3))
		if err != nil {
			t.Fatal(err)
		}
		p, err := stage.Public(st, []pvi.ClientID{"north", "south"})
		if err != nil {
			t.Fatal(err)
		}
		if d := p.Model().Dim(); d < want || float64(d) > float64(want)+2*math.Sqrt(float64(want))+8 {
			t.Errorf("%d coefficients, not %d", d, want)
		}
	}
}

func TestSlope(t *testing.T) {
	x, y := []float64{0, 1, 2, 5}, []float64{1, 3.5, 5.5, 13}
	if got := slope(x, y); math.Abs(got-33.5/14) > 1e-12 { // by hand
		t.Errorf("the slope is %g", got)
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
