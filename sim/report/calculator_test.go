package report

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// The test checks that upper bounds are printed rounded up and lower bounds rounded down.
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
