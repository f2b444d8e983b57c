package accountant

import (
	"errors"
	"fmt"
	"math"
)

// An Event is what one release, or several, cost. The set of events is closed:
// Gaussian, DiscreteGaussian, Repeated and Composed.
type Event interface {
	// gaussian returns the event as one Gaussian release.
	gaussian() (gaussian, error)
}

// gaussian is the part of a composition that has been added up so far: a
// Gaussian release with parameter μ, up to a max divergence.
type gaussian struct {
	muSquared  float64   // Σ (sensitivity/σ)²
	divergence float64   // to what happens from the exact Gaussian, either way
	adjacency  Adjacency // "" for a composition of nothing
}

// Gaussian is a release of a real vector of L2 sensitivity Sensitivity with
// independent N(0, Sigma²) noise on every element.
type Gaussian struct {
	Sensitivity float64
	Sigma       float64
	Adjacency   Adjacency
}

func (e Gaussian) gaussian() (gaussian, error) {
	if err := errors.Join(
		nonNegative("sensitivity", e.Sensitivity),
		positive("sigma", e.Sigma),
		e.Adjacency.Check(),
	); err != nil {
		return gaussian{}, fmt.Errorf("gaussian event: %w", err)
	}
	mu := e.Sensitivity / e.Sigma
	return gaussian{muSquared: mu * mu, adjacency: e.Adjacency}, nil
}

// DiscreteGaussian is a release of an integer vector of L2 sensitivity
// Sensitivity, to every element of which Shares independent samples of the
// discrete Gaussian N_Z(0, Sigma²) are added.
//
// It is accounted as the continuous Gaussian with variance v = Shares·Sigma² −
// 1/12, rounded to integers, up to a max divergence:
//
//   - Rounding is post-processing, and a shift by integers commutes with it.
//   - The rounded Gaussian's probability at k is the density there of the
//     Gaussian plus a uniform variable on [−½, ½]. That variable has variance
//     s² = Shares·Sigma² and fourth cumulant −1/120, so the log ratio to
//     N_Z(0, s²) is −He₄(k/s)/(2880 s⁴) up to terms of order s⁻⁶. For
//     |k| ≤ 64s it is below 2²⁴/(2880 s⁴); twice that is charged for every
//     element. Beyond, where N_Z(0, s²) has mass below 10⁻⁸⁸⁸ and is the heavier
//     one, nothing is charged.
//   - The sum of n shares is within max divergence 10·Σ_k e^(−2π²σ²k/(k+1)) of
//     one discrete Gaussian of the summed variance (Kairouz, Liu, Steinke,
//     "The Distributed Discrete Gaussian Mechanism", 2021, corollary 12).
//
// A mechanism of this project has Sigma ≥ 2²³: the divergence is below 2⁻⁷⁸ an
// element. Sigma below 1024 is refused: there the terms left out count.
type DiscreteGaussian struct {
	Sensitivity float64
	Sigma       float64
	Shares      int
	Dim         int
	Adjacency   Adjacency
}

// minDiscreteSigma keeps (k/s)²/s², the size of the next term beside the one
// that is charged, below 2⁻⁸ for |k| ≤ 64s.
const minDiscreteSigma = 1024

func (e DiscreteGaussian) gaussian() (gaussian, error) {
	if err := errors.Join(
		nonNegative("sensitivity", e.Sensitivity),
		atLeast("sigma", e.Sigma, minDiscreteSigma),
		atLeast("number of noise shares", float64(e.Shares), 1),
		atLeast("dimension", float64(e.Dim), 1),
		e.Adjacency.Check(),
	); err != nil {
		return gaussian{}, fmt.Errorf("discrete Gaussian event: %w", err)
	}
	variance := float64(e.Shares) * e.Sigma * e.Sigma
	perElement := 2*roundingDivergence(math.Sqrt(variance), 64) + sharesDivergence(e.Sigma, e.Shares)
	return gaussian{
		muSquared:  e.Sensitivity * e.Sensitivity / (variance - 1.0/12),
		divergence: float64(e.Dim) * perElement,
		adjacency:  e.Adjacency,
	}, nil
}

// roundingDivergence is the leading term of the largest log ratio, for
// |k| ≤ z·s and z ≥ 2.5, between the rounded Gaussian of variance s² − 1/12 and
// the discrete Gaussian of parameter s.
func roundingDivergence(s, z float64) float64 { return math.Pow(z/s, 4) / 2880 }

// sharesDivergence bounds the max divergence between a sum of n samples of
// N_Z(0, σ²) and one sample of N_Z(0, nσ²). The largest of the n − 1 terms is
// that of k = 1.
func sharesDivergence(sigma float64, n int) float64 {
	return 10 * float64(n-1) * math.Exp(-math.Pi*math.Pi*sigma*sigma)
}

// Repeated is an event that happens Times times, each chosen in the knowledge of
// what the earlier ones released.
type Repeated struct {
	Event Event
	Times int
}

func (e Repeated) gaussian() (gaussian, error) {
	if e.Event == nil || e.Times < 0 {
		return gaussian{}, fmt.Errorf("repeated event: want an event and a number of times ≥ 0, got %v and %d", e.Event, e.Times)
	}
	g, err := e.Event.gaussian()
	if err != nil {
		return gaussian{}, err
	}
	n := float64(e.Times)
	return gaussian{muSquared: up(n * g.muSquared), divergence: up(n * g.divergence), adjacency: g.adjacency}, nil
}

// Composed is a sequence of events, each chosen in the knowledge of what the
// earlier ones released.
type Composed []Event

func (c Composed) gaussian() (gaussian, error) {
	var total gaussian
	for _, e := range c {
		if e == nil {
			return gaussian{}, errors.New("composed event: nil event")
		}
		g, err := e.gaussian()
		if err != nil {
			return gaussian{}, err
		}
		if total.adjacency == "" {
			total.adjacency = g.adjacency
		} else if g.adjacency != "" && g.adjacency != total.adjacency {
			return gaussian{}, fmt.Errorf("cannot add a release accounted under %q to one under %q: they promise different things; account all of them under one adjacency", g.adjacency, total.adjacency)
		}
		total.muSquared = up(total.muSquared + g.muSquared)
		total.divergence = up(total.divergence + g.divergence)
	}
	return total, nil
}

// up returns a number that is not below the exact result of the operation that
// yielded x. Zero is exact.
func up(x float64) float64 {
	if x == 0 {
		return 0
	}
	return math.Nextafter(x, math.Inf(1))
}

func positive(name string, x float64) error {
	if !(x > 0) || math.IsInf(x, 0) {
		return fmt.Errorf("%s must be positive and finite, got %g", name, x)
	}
	return nil
}

func nonNegative(name string, x float64) error {
	if !(x >= 0) || math.IsInf(x, 0) {
		return fmt.Errorf("%s must be non-negative and finite, got %g", name, x)
	}
	return nil
}

func atLeast(name string, x, least float64) error {
	if !(x >= least) || math.IsInf(x, 0) {
		return fmt.Errorf("%s must be at least %g, got %g", name, least, x)
	}
	return nil
}
