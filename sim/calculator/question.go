// Package calculator computes the privacy of a planned series of noisy releases without a study:
// the cost and an attacker's chance of success. Given a target (ε, δ), it computes the noise, the
// sampling rate or the number of steps.
package calculator

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
)

// A Sampling is a rule that chooses the records of each step. The sampling rate q is the average
// fraction of the records in a step.
type Sampling string

const (
	// Everything uses all records in every step.
	Everything Sampling = "none"
	// Poisson draws every record independently with probability q.
	Poisson Sampling = "poisson"
	// WithoutReplacement draws a fixed fraction q of the records in every step.
	WithoutReplacement Sampling = "without-replacement"
	// RandomAllocation puts every record into one of the 1/q steps of an epoch, independently.
	RandomAllocation Sampling = "random-allocation"
	// Permutation divides the records at random into 1/q batches of equal size, one for each step
	// of an epoch.
	Permutation Sampling = "permutation"
)

// A Question describes a series of releases. Each is a sum of vectors of L2 norm at most 1, plus
// Gaussian noise. Of the noise multiplier, the rate, the steps, ε and δ, exactly one is nil, and
// [Ask] computes it. Without sampling the rate may also be nil, which means 1.
type Question struct {
	Sampling        Sampling
	Adjacency       accountant.Adjacency
	NoiseMultiplier *float64
	Rate            *float64 // sampling rate q; nil to compute it
	Steps           *int
	Epsilon, Delta  *float64

	FPRs    []float64
	Prior   float64 // attacker's prior probability that the record was used
	Group   int     // number of records in a group
	Compare bool    // whether to compute the bounds by other methods and under other adjacencies too
}

// maxSteps is the largest number of steps that a search considers.
const maxSteps = 10_000_000

// unknown returns the JSON name of the value that must be computed.
func (q Question) unknown() (string, error) {
	var missing []string
	for _, p := range []struct {
		name  string
		given bool
	}{
		{"noise_multiplier", q.NoiseMultiplier != nil},
		{"q", q.Rate != nil || q.Sampling == Everything},
		{"steps", q.Steps != nil},
		{"epsilon", q.Epsilon != nil},
		{"delta", q.Delta != nil},
	} {
		if !p.given {
			missing = append(missing, p.name)
		}
	}
	switch len(missing) {
	case 1:
		return missing[0], nil
	case 0:
		return "", errors.New("no value to compute: leave out one of noise multiplier, q, steps, epsilon and delta")
	}
	return "", fmt.Errorf("too many values are missing: give all but one of %q", missing)
}

func (q Question) check() error {
	var err error
	switch q.Sampling {
	case Everything, Poisson, WithoutReplacement, RandomAllocation, Permutation:
	default:
		err = fmt.Errorf("unknown sampling %q", q.Sampling)
	}
	inside := func(name string, x float64) {
		if !(x > 0 && x < 1) {
			err = errors.Join(err, fmt.Errorf("%s must lie in (0, 1), got %g", name, x))
		}
	}
	for _, fpr := range q.FPRs {
		inside("a false-positive rate", fpr)
	}
	inside("the prior", q.Prior)
	if q.Delta != nil {
		inside("delta", *q.Delta)
	}
	if q.Epsilon != nil && !(*q.Epsilon >= 0 && !math.IsInf(*q.Epsilon, 0)) {
		err = errors.Join(err, fmt.Errorf("epsilon must be non-negative and finite, got %g", *q.Epsilon))
	}
	if q.Rate != nil && !(*q.Rate > 0 && *q.Rate <= 1) {
		err = errors.Join(err, fmt.Errorf("q must lie in (0, 1], got %g", *q.Rate))
	}
	if q.Rate != nil && q.Sampling == Everything && *q.Rate != 1 {
		err = errors.Join(err, fmt.Errorf("q must be 1 without sampling, got %g: name a sampling", *q.Rate))
	}
	if q.Steps != nil && (*q.Steps < 1 || *q.Steps > 1e9) {
		err = errors.Join(err, fmt.Errorf("steps must lie between 1 and 10^9, got %d", *q.Steps))
	}
	if q.Group < 1 {
		err = errors.Join(err, fmt.Errorf("a group must have at least 1 record, got %d", q.Group))
	}
	return errors.Join(err, q.Adjacency.Check())
}

// event returns the accounting event of all releases.
func (q Question) event(a accountant.Adjacency, sigma, rate float64, steps int) (accountant.Event, error) {
	repeated := func(e accountant.Event) (accountant.Event, error) {
		return accountant.Repeated{Event: e, Times: steps}, nil
	}
	switch q.Sampling {
	case Everything:
		return repeated(accountant.Gaussian{Sensitivity: a.Factor(), Sigma: sigma, Adjacency: a})
	case Poisson:
		return repeated(accountant.Poisson{Rate: rate, Sigma: sigma, Adjacency: a})
	case WithoutReplacement:
		return repeated(accountant.WithoutReplacement{Rate: rate, Sigma: sigma, Adjacency: a})
	}
	batches, err := batches(rate)
	if err != nil {
		return nil, err
	}
	if steps%batches != 0 {
		return nil, fmt.Errorf("%s: %d steps of q = 1/%d are %.4g epochs, but bounds exist only for whole epochs: use, for example, --steps %d",
			q.Sampling, steps, batches, float64(steps)/float64(batches), (steps/batches+1)*batches)
	}
	epoch := accountant.Event(accountant.Permutation{Sigma: sigma, Adjacency: a})
	if q.Sampling == RandomAllocation {
		epoch = accountant.RandomAllocation{Steps: batches, Picks: 1, Sigma: sigma, Adjacency: a}
	}
	return accountant.Repeated{Event: epoch, Times: steps / batches}, nil
}

// batches returns 1/q, the number of batches in an epoch.
func batches(rate float64) (int, error) {
	n := math.Round(1 / rate)
	if math.Abs(rate*n-1) > 1e-4 || n > 1e9 {
		return 0, fmt.Errorf("an epoch has 1/q steps, which must be a whole number: got q = %g, 1/q = %.6g", rate, 1/rate)
	}
	return int(n), nil
}

// inEpochs reports whether the sampling divides the steps into epochs of 1/q steps.
func (q Question) inEpochs() bool {
	return q.Sampling == RandomAllocation || q.Sampling == Permutation
}

// solve sets the missing value so that the releases meet the target. unknown is its JSON name.
func (q Question) solve(unknown string) (Question, error) {
	var target accountant.Target
	if q.Epsilon != nil && q.Delta != nil {
		target = accountant.Target{Epsilon: *q.Epsilon, Delta: *q.Delta}
	}
	switch unknown {
	case "noise_multiplier":
		c, err := accountant.CalibrateNoise(target, func(sigma float64) (accountant.Event, error) {
			return q.event(q.Adjacency, sigma, *q.Rate, *q.Steps)
		})
		q.NoiseMultiplier = &c.Value
		return q, err
	case "q":
		if q.inEpochs() {
			return q, fmt.Errorf("%s: q determines the length of an epoch and cannot be computed: give it", q.Sampling)
		}
		c, err := accountant.CalibrateRate(target, func(rate float64) (accountant.Event, error) {
			return q.event(q.Adjacency, *q.NoiseMultiplier, rate, *q.Steps)
		})
		q.Rate = &c.Value
		return q, err
	case "steps":
		length := 1
		if q.inEpochs() {
			var err error
			if length, err = batches(*q.Rate); err != nil {
				return q, err
			}
		}
		c, err := accountant.CalibrateTimes(target, max(1, maxSteps/length), func(n int) (accountant.Event, error) {
			return q.event(q.Adjacency, *q.NoiseMultiplier, *q.Rate, n*length)
		})
		if err != nil {
			return q, err
		}
		steps := int(c.Value) * length
		if steps == 0 {
			return q, fmt.Errorf("epsilon %g at delta %g is too small for %d step(s): use more noise or a smaller q", target.Epsilon, target.Delta, length)
		}
		q.Steps = &steps
	}
	return q, nil
}
