package report

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/sim/calculator"
)

func TestDigitsAreSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Exp(rapid.Float64Range(-300, 300).Draw(t, "log"))
		n := rapid.IntRange(1, 8).Draw(t, "digits")
		for _, upwards := range []bool{true, false} {
			y, err := strconv.ParseFloat(digits(x, n, upwards), 64)
			if err != nil {
				t.Fatal(err)
			}
			if upwards && y < x || !upwards && y > x || math.Abs(y/x-1) > 1.01*math.Pow(10, float64(1-n)) {
				t.Fatalf("%g with %d digits, up %v: %g", x, n, upwards, y)
			}
		}
	})
	if got := digits(1, 4, true); got != "1" {
		t.Errorf("1 is printed as %s", got)
	}
}

func TestReasonOfBoundsThatLieApart(t *testing.T) {
	low, near, far := 3e-5, 3.01e-5, 5e-4
	for _, c := range []struct {
		upper float64
		says  bool
	}{{near, false}, {far, true}} {
		a := &calculator.Answer{Sampling: calculator.Poisson, EpsilonLower: &low, EpsilonUpper: &c.upper}
		if said := strings.Contains(strings.Join(notes(a), " "), "one grid of losses cannot resolve both"); said != c.says {
			t.Errorf("bounds %g and %g: the reason is stated: %t", low, c.upper, said)
		}
	}
}
