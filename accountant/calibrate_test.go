package accountant

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestCalibrateNoiseOfGaussians(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		target := drawTarget(t, -5, 5, -30)
		releases := rapid.IntRange(1, 1000).Draw(t, "releases")
		event := func(sigma float64) (Event, error) {
			return Repeated{Gaussian{1, sigma, AddRemove}, releases}, nil
		}
		c, err := CalibrateNoise(target, event)
		check(t, err)
		at := func(sigma float64) float64 {
			e, _ := event(sigma)
			return epsilonOf(t, e, target.Delta).Upper
		}
		if got := at(c.Value); got > target.Epsilon || got != c.Cost.Upper {
			t.Fatalf("σ = %g costs ε = %g, but the calibration has %+v for a target of %g", c.Value, got, c.Cost, target.Epsilon)
		}
		if got := at(c.Value * (1 - 1e-8)); got <= target.Epsilon {
			t.Fatalf("σ = %g is not the smallest: a smaller one costs ε = %g ≤ %g", c.Value, got, target.Epsilon)
		}
		if !(c.Left >= 0 && c.Left < 1e-7*target.Epsilon) {
			t.Fatalf("Left is %g for a target of %g", c.Left, target.Epsilon)
		}
	})
}

// If a mechanism rounds σ, its cost is constant over intervals of σ. The cost may then exceed the
// target by less than the tolerance of the search.
func TestCalibrateNoiseThatIsRounded(t *testing.T) {
	for _, excess := range []float64{1e-12, 1e-11, 5e-11, 9e-11, 2e-10, 1e-9} {
		for _, step := range []float64{1e-9, 1e-7, 1e-5} {
			// At σ = middle, the cost is slightly higher than the target.
			middle := 5 / GaussianMu(3, 1e-5) * (1 - excess)
			c, err := CalibrateNoise(Target{3, 1e-5}, func(sigma float64) (Event, error) {
				steps := math.Round(math.Log(sigma/middle) / step)
				return Repeated{Gaussian{1, middle * math.Exp(steps*step), AddRemove}, 25}, nil
			})
			if err != nil || c.Cost.Upper > 3 || c.Value > middle*(1+2*step) {
				t.Errorf("the cost is above the target by %g over a step of %g: %+v, %v", excess, step, c, err)
			}
		}
	}
}

func TestCalibrateErrors(t *testing.T) {
	event := func(sigma float64) (Event, error) { return Gaussian{1, sigma, AddRemove}, nil }
	for _, target := range []Target{{0, 1e-5}, {1, 0}, {1, 1}, {math.NaN(), 1e-5}} {
		if _, err := CalibrateNoise(target, event); err == nil {
			t.Errorf("target %+v gives no error", target)
		}
	}
	constant := func(float64) (Event, error) { return Gaussian{1, 1, AddRemove}, nil }
	if _, err := CalibrateNoise(Target{.1, 1e-5}, constant); err == nil {
		t.Error("no error for an event whose cost does not depend on the noise")
	}
	never := errors.New("no mechanism")
	if _, err := CalibrateNoise(Target{1, 1e-5}, func(float64) (Event, error) { return nil, never }); !errors.Is(err, never) {
		t.Errorf("a mechanism that always returns an error: %v", err)
	}
	// CalibrateNoise must succeed although picky returns errors far from the solution.
	picky := func(sigma float64) (Event, error) {
		if sigma < 3 || sigma > 100 {
			return nil, never
		}
		return Gaussian{1, sigma, AddRemove}, nil
	}
	if c, err := CalibrateNoise(Target{1, 1e-5}, picky); err != nil || c.Value < 3.7 || c.Value > 3.8 {
		t.Errorf("a mechanism that returns errors for extreme values: %+v, %v", c, err)
	}
	if _, err := CalibrateTimes(Target{.1, 1e-5}, 100, func(int) (Event, error) { return Gaussian{1, 1, AddRemove}, nil }); err == nil {
		t.Error("no error although zero steps miss the target")
	}
}

// Calibrated values must meet the target. They must also be within one part in a thousand of the
// exact solution in the reference file.
func TestCalibrationVectors(t *testing.T) {
	var cases []struct {
		ID, Kind     string
		Target_eps   float64
		Target_delta float64
		Q, Sigma     float64
		T            int
		Exact        struct {
			Sigma, Q *float64
			T        *int
		}
	}
	readVectors(t, "calibration", &cases)
	for _, c := range some(cases) {
		target := Target{c.Target_eps, c.Target_delta}
		compare := func(got Calibration, err error, want *float64, sign float64) {
			t.Helper()
			if err != nil || got.Cost.Upper > target.Epsilon {
				t.Errorf("%s: %+v, %v", c.ID, got, err)
			}
			if want == nil {
				t.Logf("%s: %s = %g, without a reference value", c.ID, c.Kind, got.Value)
				return
			}
			if off := sign * (got.Value/(*want) - 1); off < -1e-9 || off > 1e-3 {
				t.Errorf("%s: %s = %.10g, want %.10g and on the safe side (%+.1e)", c.ID, c.Kind, got.Value, *want, off)
			}
		}
		switch c.Kind {
		case "sigma":
			got, err := CalibrateNoise(target, func(sigma float64) (Event, error) { return poisson(c.Q, sigma, c.T, AddRemove), nil })
			compare(got, err, c.Exact.Sigma, 1)
		case "max_q":
			got, err := CalibrateRate(target, func(q float64) (Event, error) { return poisson(q, c.Sigma, c.T, AddRemove), nil })
			compare(got, err, c.Exact.Q, -1)
		case "max_T":
			var want *float64
			if n := c.Exact.T; n != nil {
				x := float64(*n)
				want = &x
			}
			got, err := CalibrateTimes(target, 1e7, func(n int) (Event, error) { return poisson(c.Q, c.Sigma, n, AddRemove), nil })
			compare(got, err, want, -1)
		default:
			t.Fatalf("%s: unknown kind %q", c.ID, c.Kind)
		}
	}
}
