package accountant

import (
	"errors"
	"fmt"
)

// Target is a privacy promise: (Epsilon, Delta), Epsilon ≥ 0, 0 < Delta < 1.
type Target struct {
	Epsilon float64
	Delta   float64
}

// Check returns an error if t is no promise.
func (t Target) Check() error {
	var err error
	if !(t.Delta > 0 && t.Delta < 1) {
		err = fmt.Errorf("delta must lie in (0, 1), got %g", t.Delta)
	}
	return errors.Join(positive("epsilon", t.Epsilon), err)
}

// CalibrateNoise returns the smallest noise multiplier σ, up to one part in
// 10⁹, for which the event that mechanism(σ) states meets the target. The cost
// must fall as σ grows. What is returned was checked with [Account]; it never
// misses the target.
func CalibrateNoise(target Target, mechanism func(noiseMultiplier float64) (Event, error)) (float64, error) {
	if err := target.Check(); err != nil {
		return 0, fmt.Errorf("calibrate: %w", err)
	}
	meets := func(sigma float64) (bool, error) {
		e, err := mechanism(sigma)
		if err != nil {
			return false, err
		}
		p, err := Account(e)
		if err != nil {
			return false, err
		}
		epsilon, err := p.Epsilon(target.Delta)
		return epsilon <= target.Epsilon, err
	}
	const least, most = 0x1p-20, 0x1p40
	low, high := least, 1.0
	for {
		ok, err := meets(high)
		if err != nil {
			return 0, fmt.Errorf("calibrate: %w", err)
		}
		if ok {
			break
		}
		if low, high = high, 2*high; high > most {
			return 0, fmt.Errorf("calibrate: no noise multiplier up to %g meets epsilon %g at delta %g", most, target.Epsilon, target.Delta)
		}
	}
	for high-low > 1e-9*high {
		middle := low + (high-low)/2
		ok, err := meets(middle)
		if err != nil {
			return 0, fmt.Errorf("calibrate: %w", err)
		}
		if ok {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}
