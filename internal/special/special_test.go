package special

import (
	"math"
	"testing"
)

// The reference is Simpson's rule for Φ(x)/φ(x) = ∫₀^∞ exp(xt − t²/2) dt.
func TestLogPhi(t *testing.T) {
	for _, x := range []float64{-1000, -100, -38, -37, -30.01, -30, -29.99, -10, -5, -1, 0, 1, 3} {
		const n = 20000
		end := 45 / math.Max(1, -x)
		if x > -3 {
			end = x + 12 + math.Abs(x)
		}
		h := end / n
		sum := 0.
		for i := range n + 1 {
			u := h * float64(i)
			w := float64(2 + 2*(i%2))
			if i == 0 || i == n {
				w = 1
			}
			sum += w * math.Exp(x*u-.5*u*u)
		}
		ratio := sum * h / 3
		want := math.Log(ratio) - .5*x*x - .5*math.Log(2*math.Pi)
		value, slope := LogPhi(x)
		if math.Abs(value-want) > 1e-11*(1+math.Abs(want)) || math.Abs(slope*ratio-1) > 1e-10 {
			t.Errorf("log Φ(%g) = %.15g with slope %g, want %.15g and %g", x, value, slope, want, 1/ratio)
		}
	}
}

// The reference adds up log(x+j) and 1/(x+j) over j in compensated sums.
func TestLogRising(t *testing.T) {
	for _, x := range []float64{1e-300, 1e-8, .3, 1, 7.5, 31, 33, 1000, 1e6, 1e12, 1e18, 1e25} {
		for _, k := range []float64{0, 1, 2, 16, 17, 100, 2000} {
			var value, slope kahan
			for j := range int(k) {
				value.add(math.Log(x + float64(j)))
				slope.add(1 / (x + float64(j)))
			}
			gotValue, gotSlope := LogRising(x, k)
			if math.Abs(gotValue-value.sum) > 1e-12*(1+math.Abs(value.sum)) || math.Abs(gotSlope-slope.sum) > 1e-9*slope.sum {
				t.Errorf("x = %g, k = %g: %.15g and %g, sums give %.15g and %g", x, k, gotValue, gotSlope, value.sum, slope.sum)
			}
		}
	}
}

type kahan struct{ sum, rest float64 }

func (s *kahan) add(x float64) {
	y := x - s.rest
	sum := s.sum + y
	s.rest = (sum - s.sum) - y
	s.sum = sum
}

func TestLogFactorial(t *testing.T) {
	sum := 0.
	for k := range 400 {
		if k > 0 {
			sum += math.Log(float64(k))
		}
		if got := LogFactorial(float64(k)); math.Abs(got-sum) > 1e-12*(1+sum) {
			t.Errorf("log %d! = %.15g, want %.15g", k, got, sum)
		}
	}
}

// For these arguments, the textbook formulas overflow or cancel.
func TestLogistic(t *testing.T) {
	for _, c := range []struct{ x, softplus, invLogit float64 }{
		{0, math.Ln2, .5},
		{1000, 1000, 1},
		{-1000, 0, 0},
		{-50, math.Exp(-50), math.Exp(-50)},
		{2, 2.1269280110429726, .8807970779778823},
	} {
		if got := Softplus(c.x); math.Abs(got-c.softplus) > 1e-15*c.softplus {
			t.Errorf("softplus(%g) = %g, want %g", c.x, got, c.softplus)
		}
		if got := InvLogit(c.x); math.Abs(got-c.invLogit) > 1e-15*c.invLogit {
			t.Errorf("inv_logit(%g) = %g, want %g", c.x, got, c.invLogit)
		}
	}
}
