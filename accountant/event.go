package accountant

import (
	"errors"
	"fmt"
	"math"
)

// An Event describes one or more releases: the noise, the sample, the sensitivity and the
// adjacency. Other packages cannot define events. The events are [Gaussian], [DiscreteGaussian],
// [Poisson], [WithoutReplacement], [RandomAllocation], [Permutation], [Laplace], [Approximate],
// [Repeated], [Composed] and [Outcomes].
type Event interface {
	// addTo adds the event to t, times times.
	addTo(t *tally, times float64) error
}

// A tally sums up the events of a composition.
type tally struct {
	adjacency  Adjacency // adjacency of all events; empty if there are no events yet
	muSquared  float64   // Σ μ² of the Gaussian releases, rounded up; μ is sensitivity/σ
	leastMu    float64   // lower bound on √(Σ μ²); it is below √muSquared if the exact μ of a release is unknown
	divergence float64   // bound on the max divergence between the composition and its Gaussian approximation
	samples    []counted // all events that are not Gaussian, in the order in which they first occurred
}

// counted is an event that is not Gaussian, with the number of times that it occurs.
type counted struct {
	event lossy
	times float64
}

// lossy is an event other than a Gaussian release. Lossy events can be compared with ==.
type lossy interface {
	Event
	// laws returns distributions of the privacy loss that bound the cost from above and, if there
	// is a known lower bound, from below.
	laws() (upper, lower directions, err error)
}

// directions has the distributions of the privacy loss for the two orders of two adjacent inputs.
// In remove, P is the distribution of the output with the record, and Q that without it. In add, it
// is the other way round. The zero value belongs to a release that reveals nothing.
type directions struct {
	remove, add law
	equal       bool
	// removeFirst is true if add never has a larger Rényi divergence than remove at the same order.
	removeFirst bool
}

// same returns the [directions] of an event if the privacy loss has the distribution l in both of
// them.
func same(l law) directions { return directions{remove: l, add: l, equal: true} }

func tallyOf(e Event) (tally, error) {
	var t tally
	if e == nil {
		return t, errors.New("no event")
	}
	if err := e.addTo(&t, 1); err != nil {
		return t, err
	}
	if math.IsInf(t.muSquared, 0) || math.IsInf(t.divergence, 0) {
		return t, errors.New("the cost of the releases overflows a float64")
	}
	return t, nil
}

// under sets the adjacency of the tally. If earlier events have a different one, it returns an
// error.
func (t *tally) under(a Adjacency) error {
	if err := a.Check(); err != nil {
		return err
	}
	if t.adjacency != "" && t.adjacency != a {
		return fmt.Errorf("cannot add a release accounted under %q to one under %q: use one adjacency for all releases", a, t.adjacency)
	}
	t.adjacency = a
	return nil
}

// gaussian adds Gaussian releases. The parameter μ = sensitivity/σ of each is between low and high.
func (t *tally) gaussian(low, high, times float64) {
	t.muSquared = up(t.muSquared + up(times*up(high*high)))
	t.leastMu = math.Sqrt(t.leastMu*t.leastMu+times*low*low) * (1 - 0x1p-50)
}

func (t *tally) sample(e lossy, times float64) {
	if times == 0 {
		return
	}
	for i := range t.samples {
		if t.samples[i].event == e {
			t.samples[i].times += times
			return
		}
	}
	t.samples = append(t.samples, counted{e, times})
}

// Gaussian is a release of a real vector whose L2 sensitivity is Sensitivity, with independent N(0,
// Sigma²) noise on every element. Sensitivity and Sigma are in the same unit.
type Gaussian struct {
	Sensitivity float64
	Sigma       float64
	Adjacency   Adjacency
}

func (e Gaussian) addTo(t *tally, times float64) error {
	if err := errors.Join(
		nonNegative("sensitivity", e.Sensitivity),
		positive("sigma", e.Sigma),
		t.under(e.Adjacency),
	); err != nil {
		return fmt.Errorf("gaussian event: %w", err)
	}
	mu := e.Sensitivity / e.Sigma
	t.gaussian(mu, up(mu), times)
	return nil
}

// Laplace is a release of a real vector whose L1 sensitivity is Sensitivity, with independent
// Laplace noise of scale Scale on every element. It is accounted as the worst case, in which one
// element has the whole sensitivity.
type Laplace struct {
	Sensitivity float64
	Scale       float64
	Adjacency   Adjacency
}

func (e Laplace) addTo(t *tally, times float64) error {
	if err := errors.Join(
		nonNegative("sensitivity", e.Sensitivity),
		positive("scale", e.Scale),
		t.under(e.Adjacency),
	); err != nil {
		return fmt.Errorf("laplace event: %w", err)
	}
	if e.Sensitivity > 0 {
		t.sample(e, times)
	}
	return nil
}

func (e Laplace) laws() (upper, lower directions, err error) {
	l := laplaceLaw(up(e.Sensitivity / e.Scale))
	return same(l), same(l), nil
}

// Approximate is an (Epsilon, Delta)-private step about which the accountant knows nothing else.
// Delta may be 0. There is no lower bound on the cost, because the step may reveal nothing.
type Approximate struct {
	Epsilon   float64
	Delta     float64
	Adjacency Adjacency
}

func (e Approximate) addTo(t *tally, times float64) error {
	var err error
	if !(e.Delta >= 0 && e.Delta < 1) {
		err = fmt.Errorf("delta must lie in [0, 1), got %g", e.Delta)
	}
	if err := errors.Join(nonNegative("epsilon", e.Epsilon), err, t.under(e.Adjacency)); err != nil {
		return fmt.Errorf("(ε, δ) event: %w", err)
	}
	if e.Epsilon > 0 || e.Delta > 0 {
		t.sample(e, times)
	}
	return nil
}

func (e Approximate) laws() (upper, lower directions, err error) {
	l := approximateLaw(e.Epsilon, e.Delta)
	return same(l), directions{equal: true}, nil
}

// Repeated is an event that happens Times times. Each repetition may depend on earlier releases.
type Repeated struct {
	Event Event
	Times int
}

func (e Repeated) addTo(t *tally, times float64) error {
	if e.Event == nil || e.Times < 0 {
		return fmt.Errorf("repeated event: want an event and a number of times ≥ 0, got %v and %d", e.Event, e.Times)
	}
	if times *= float64(e.Times); times > 1<<53 {
		return fmt.Errorf("repeated event: more than 2^53 releases")
	}
	return e.Event.addTo(t, times)
}

// Composed is a sequence of events. Each event may depend on earlier releases.
type Composed []Event

func (c Composed) addTo(t *tally, times float64) error {
	for _, e := range c {
		if e == nil {
			return errors.New("composed event: nil event")
		}
		if err := e.addTo(t, times); err != nil {
			return err
		}
	}
	return nil
}

// up returns the next float64 above x, which covers the rounding error of one operation. up(0) is
// 0, because all callers pass a zero that is exact.
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
