package accountant

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

// A Filter is the lifetime budget of one data holder. It admits releases for as
// long as all of them together keep a promise (ε, δ) that was made at the start,
// and refuses the first that would break it.
//
// The promise holds under full adaptivity: what is released next, with how much
// noise, and whether anything is, may depend on all that was released before.
// That is why a filter counts in a unit whose sum alone decides, fixed when the
// budget is made, and why no ε of the moment is compared with anything.
//
// A Filter is safe for concurrent use. The zero Filter admits nothing. A Filter
// must not be copied.
type Filter struct {
	mu sync.Mutex
	filterState
}

type filterState struct {
	kind      filterKind
	target    Target
	adjacency Adjacency
	order     float64 // of a Rényi filter
	budget    filterCost
	spent     filterCost
}

type filterKind string

const (
	gaussianFilter filterKind = "gaussian"
	renyiFilter    filterKind = "renyi"
)

// filterCost is what a release costs or what there is to spend: μ² or a Rényi
// divergence, and, of a Gaussian filter, the max divergence to the exact Gaussian
// release.
type filterCost struct{ main, divergence float64 }

// filterDivergence is the max divergence that a Gaussian filter sets aside for
// noise that is not quite Gaussian. Integer noise of σ ≥ 2²³ costs below 2⁻⁷⁸ an
// element: it is enough for 2³⁸ of them, and takes from ε about 2⁻³⁹.
const filterDivergence = 0x1p-40

// costMargin raises costs above the rounding errors with which they come.
const costMargin = 1 + 0x1p-50

// NewGaussianFilter returns a filter for Gaussian releases only, Gaussian and
// DiscreteGaussian and what is composed of them, that admits them while
// Σμ² ≤ μ_B² for the largest μ_B that meets the target (Koskela, Tobaben, Honkela,
// "Individual Privacy Accounting with Gaussian Differential Privacy", 2023;
// Smith, Thakurta, "Fully Adaptive Composition for Gaussian
// Differential Privacy", 2022). Nothing is lost against a plan made in advance.
func NewGaussianFilter(target Target, adjacency Adjacency) (*Filter, error) {
	if err := errors.Join(target.Check(), adjacency.Check()); err != nil {
		return nil, fmt.Errorf("gaussian filter: %w", err)
	}
	tooMuch := func(muSquared float64) bool {
		delta := filterDelta(filterCost{muSquared, filterDivergence}, target.Epsilon)
		return !(delta <= target.Delta)
	}
	budget := stable(largest(tooMuch))
	if budget == 0 {
		return nil, fmt.Errorf("gaussian filter: epsilon %g at delta %g leaves no room for any release", target.Epsilon, target.Delta)
	}
	return &Filter{filterState: filterState{
		kind:      gaussianFilter,
		target:    target,
		adjacency: adjacency,
		budget:    filterCost{budget, filterDivergence},
	}}, nil
}

// NewRenyiFilter returns a filter for all releases of which [Renyi] knows the
// divergence at the given order α > 1, subsampled ones among them. It admits them
// while the sum of divergences is at most [RenyiBudget] (Feldman, Zrnic,
// "Individual Privacy Accounting via a Rényi Filter", 2021; Lécuyer,
// "Practical Privacy Filters and Odometers with Rényi Differential Privacy", 2021).
// The order cannot be changed later. A good one minimises [RenyiEpsilon] for the
// releases that are expected: for Gaussian ones it is near 1 + 2 log(1/δ)/ε.
func NewRenyiFilter(target Target, order float64, adjacency Adjacency) (*Filter, error) {
	var err error
	if !(order > 1) || math.IsInf(order, 0) {
		err = fmt.Errorf("order must be above 1 and finite, got %g", order)
	}
	if err := errors.Join(target.Check(), err, adjacency.Check()); err != nil {
		return nil, fmt.Errorf("renyi filter: %w", err)
	}
	return &Filter{filterState: filterState{
		kind:      renyiFilter,
		target:    target,
		adjacency: adjacency,
		order:     order,
		budget:    filterCost{main: stable(RenyiBudget(order, target.Epsilon, target.Delta))},
	}}, nil
}

// stable rounds x ≥ 0 down to 32 significant bits. A budget is computed anew
// when a ledger is read, and must not come out lower on a machine that rounds
// otherwise, below what has been spent.
func stable(x float64) float64 {
	const dropped = 52 - 31
	return math.Float64frombits(math.Float64bits(x) >> dropped << dropped)
}

// filterDelta bounds δ(ε) of a Gaussian release with μ² up to max divergence r: if
// P and Q are (ε, δ)-close, then P′ and Q′ within r of them are (ε + 2r, e^r δ)-close,
// and at ε = 0 the missing 2r cost e^{2r} − 1 at most. It is raised as the answers
// of a [Profile] are.
func filterDelta(c filterCost, epsilon float64) float64 {
	mu, r := math.Sqrt(c.main)*costMargin, c.divergence
	delta := GaussianDelta(mu, max(0, epsilon-2*r)) * math.Exp(r)
	if epsilon < 2*r {
		delta += math.Expm1(2 * r)
	}
	return min(1, delta*(1+0x1p-40+mu*mu*0x1p-51))
}

// Charge admits the event e, and counts it, or refuses it, and counts nothing.
// It must be called, and what it did made durable, before anything of e is
// released. An event that does not fit into what is left is refused with a
// [*BudgetError]; one that is malformed, stated under another adjacency, or of no
// finite cost, with another error.
func (f *Filter) Charge(e Event) error {
	_, err := f.Admit(e)
	return err
}

// Admit does what Charge does, and returns by how much that raised [Filter.Spent].
func (f *Filter) Admit(e Event) (cost float64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	spent, c, err := f.after(e)
	if err != nil {
		return 0, err
	}
	f.spent = spent
	return c.main, nil
}

// cost is what e costs, rounded up.
func (s *filterState) cost(e Event) (filterCost, error) {
	var c filterCost
	t, err := tallyOf(e)
	if err != nil {
		return filterCost{}, err
	}
	switch s.kind {
	case gaussianFilter:
		if len(t.samples) > 0 {
			return filterCost{}, fmt.Errorf("a Gaussian filter admits Gaussian releases only, not %T: make the budget with NewRenyiFilter", t.samples[0].event)
		}
		c = filterCost{t.muSquared * costMargin, t.divergence * costMargin}
	case renyiFilter:
		c.main, err = Renyi(e, s.order)
		c.main *= costMargin
	default:
		err = errors.New("filter without a budget: make one with NewGaussianFilter or NewRenyiFilter")
	}
	if err != nil {
		return filterCost{}, err
	}
	if t.adjacency != "" && t.adjacency != s.adjacency {
		return filterCost{}, fmt.Errorf("the release is accounted under %q and the budget under %q: they promise different things; account the release under %q", t.adjacency, s.adjacency, s.adjacency)
	}
	return c, errors.Join(nonNegative("cost", c.main), nonNegative("max divergence", c.divergence))
}

// addUp returns a + b, rounded up.
func addUp(a, b float64) float64 {
	sum := a + b
	// Knuth's error term is exact.
	part := sum - a
	if lost := (a - (sum - part)) + (b - part); lost > 0 {
		return math.Nextafter(sum, math.Inf(1))
	}
	return sum
}

// Unit names what [Filter.Spent], [Filter.Left] and [Filter.Budget] are in.
func (f *Filter) Unit() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unit()
}

const divergenceUnit = "max divergence to the exact Gaussian"

func (s *filterState) unit() string {
	if s.kind == renyiFilter {
		return fmt.Sprintf("Rényi divergence at order %g", s.order)
	}
	return "squared Gaussian-DP parameter μ²"
}

// Target returns the promise that the filter keeps.
func (f *Filter) Target() Target {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.target
}

// Adjacency returns the adjacency under which the filter keeps it.
func (f *Filter) Adjacency() Adjacency {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.adjacency
}

// Budget returns what there was to spend at the start.
func (f *Filter) Budget() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.budget.main
}

// Spent returns what has been spent, rounded up.
func (f *Filter) Spent() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.spent.main
}

// SpentDivergence returns what has been spent of what a Gaussian filter sets aside for
// noise that is not quite Gaussian, rounded up; 0 for a Rényi filter.
func (f *Filter) SpentDivergence() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.spent.divergence
}

// Left returns what is left to spend, rounded down.
func (f *Filter) Left() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return left(f.spent.main, f.budget.main)
}

func left(spent, budget float64) float64 { return max(0, -addUp(spent, -budget)) }

// Epsilon returns the ε, at the target's δ, that a fixed sequence of the releases
// so far would have. It is a point estimate for the curious: when the releases
// were chosen along the way, the guarantee is the filter's whole [Filter.Target],
// whatever has been spent of it.
func (f *Filter) Epsilon() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.spent == (filterCost{}) {
		return 0
	}
	if f.kind == renyiFilter {
		return RenyiEpsilon(f.order, f.spent.main, f.target.Delta)
	}
	return leastEpsilon(func(epsilon float64) float64 { return filterDelta(f.spent, epsilon) }, f.target.Delta)
}

// A BudgetError says that a release was refused because it does not fit into what
// is left of a budget.
type BudgetError struct {
	Unit   string  // what the numbers are in
	Asked  float64 // the cost of the release
	Left   float64 // what there is to spend, less than Asked
	Budget float64 // what there was at the start
}

func newBudgetError(unit string, asked, spent, budget float64) *BudgetError {
	return &BudgetError{Unit: unit, Asked: asked, Left: left(spent, budget), Budget: budget}
}

func (e *BudgetError) Error() string {
	message := fmt.Sprintf("the release costs %.6g of %s, and %.6g of %.6g is left", e.Asked, e.Unit, e.Left, e.Budget)
	switch {
	case e.Left <= 0:
		return message + ": the budget is spent and this data can be used for no further release"
	case e.Unit == divergenceUnit:
		return message + ": use noise on a finer grid or in fewer dimensions"
	}
	return message + fmt.Sprintf(": multiply the noise by about %.3g, or release less", math.Sqrt(e.Asked/e.Left)*1.001)
}
