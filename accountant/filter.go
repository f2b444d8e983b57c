package accountant

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

// A Filter is one client's privacy budget for all time. It admits releases as long as all of them
// together meet a target (ε, δ) that was fixed at the start.
//
// The target holds under full adaptivity: whether there is a next release, and its kind and noise,
// may depend on all earlier releases. This is why a filter adds up costs in a fixed unit and
// compares only their sum with the budget. It never compares the ε of an intermediate state with
// the target.
//
// A Filter is safe for concurrent use. The zero Filter admits nothing. A Filter must not be copied.
type Filter struct {
	mu sync.Mutex
	filterState
}

type filterState struct {
	kind      filterKind
	target    Target
	adjacency Adjacency
	order     float64 // order of a Rényi filter; 0 for a Gaussian filter
	budget    filterCost
	spent     filterCost
}

type filterKind string

const (
	gaussianFilter filterKind = "gaussian"
	renyiFilter    filterKind = "renyi"
)

// filterCost is the cost of a release, or a budget. main is μ² for a Gaussian filter, and the Rényi
// divergence at the filter's order for a Rényi filter. divergence is the max divergence from an
// exact Gaussian release. Only Gaussian filters use it.
type filterCost struct{ main, divergence float64 }

// filterDivergence is the max divergence that a Gaussian filter reserves for noise that is not
// exactly Gaussian. Integer noise with σ ≥ 2²³ costs less than 2⁻⁷⁸ for each element, so this is
// enough for 2³⁸ elements. The ε that is left becomes smaller by about 2⁻³⁹.
const filterDivergence = 0x1p-40

// costMargin is a factor that raises a cost by more than its rounding errors.
const costMargin = 1 + 0x1p-50

// NewGaussianFilter returns a filter that admits only Gaussian and DiscreteGaussian events and
// compositions of them, as long as the sum of their μ² is at most μ_B² (Koskela, Tobaben, Honkela,
// "Individual Privacy Accounting with Gaussian Differential Privacy", 2023; Smith, Thakurta, "Fully
// Adaptive Composition for Gaussian Differential Privacy", 2022). μ_B is the largest μ that meets
// the target together with the reserve filterDivergence. Adaptivity costs nothing: the filter
// admits as much as if all releases had been fixed in advance.
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
		return nil, fmt.Errorf("gaussian filter: epsilon %g at delta %g is too small for any release", target.Epsilon, target.Delta)
	}
	return &Filter{filterState: filterState{
		kind:      gaussianFilter,
		target:    target,
		adjacency: adjacency,
		budget:    filterCost{budget, filterDivergence},
	}}, nil
}

// NewRenyiFilter returns a filter for all releases that have a finite Rényi divergence at the given
// order α > 1 (see [Renyi]), including subsampled ones. It admits releases as long as the sum of
// their divergences is at most [RenyiBudget] (Feldman, Zrnic, "Individual Privacy Accounting via a
// Rényi Filter", 2021; Lécuyer, "Practical Privacy Filters and Odometers with Rényi Differential
// Privacy", 2021). The order cannot be changed later. A good order is one that minimises
// [RenyiEpsilon] for the releases to be expected. For Gaussian releases, it is close to 1 + 2
// log(1/δ)/ε.
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

// stable rounds x ≥ 0 down to 32 significant bits. A budget is recomputed when a ledger is read.
// Without rounding, a machine with different floating-point arithmetic might get a slightly lower
// budget, perhaps less than was already spent.
func stable(x float64) float64 {
	const dropped = 52 - 31
	return math.Float64frombits(math.Float64bits(x) >> dropped << dropped)
}

// filterDelta bounds δ(ε) for a release whose max divergence from a Gaussian release with μ² =
// c.main is at most r = c.divergence. If P and Q are (ε, δ)-close, and P′ and Q′ are within r of
// them, then P′ and Q′ are (ε + 2r, e^r δ)-close. The bound is
//
//	δ(ε) ≤ e^r δ_G(ε − 2r)
//
// where δ_G is the profile of the Gaussian release. For ε < 2r it uses δ_G(0) and adds e^{2r} − 1,
// which is at least the difference. The result is raised to cover rounding errors.
func filterDelta(c filterCost, epsilon float64) float64 {
	mu, r := math.Sqrt(c.main)*costMargin, c.divergence
	delta := GaussianDelta(mu, max(0, epsilon-2*r)) * math.Exp(r)
	if epsilon < 2*r {
		delta += math.Expm1(2 * r)
	}
	return min(1, delta*(1+0x1p-40+mu*mu*0x1p-51))
}

// Charge admits the event e and adds its cost to the spending. If it returns an error, it has added
// nothing. Before the caller releases any result of e, it must store the new state durably. If the
// cost exceeds the remaining budget, the error is a [*BudgetError]. Charge also fails if e is
// malformed, has a different adjacency than the filter, or has no finite cost.
func (f *Filter) Charge(e Event) error {
	_, err := f.Admit(e)
	return err
}

// Admit is like Charge, and also returns how much [Filter.Spent] has increased.
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

// cost returns the cost of e, rounded up.
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
		return filterCost{}, fmt.Errorf("the release is accounted under %q and the budget under %q: account the release under %q", t.adjacency, s.adjacency, s.adjacency)
	}
	return c, errors.Join(nonNegative("cost", c.main), nonNegative("max divergence", c.divergence))
}

// addUp returns a + b, rounded up.
func addUp(a, b float64) float64 {
	sum := a + b
	// The rounding error of a sum is computed exactly (Knuth's two-sum).
	part := sum - a
	if lost := (a - (sum - part)) + (b - part); lost > 0 {
		return math.Nextafter(sum, math.Inf(1))
	}
	return sum
}

const divergenceUnit = "max divergence to the exact Gaussian"

// Unit returns the unit of [Filter.Spent], [Filter.Left] and [Filter.Budget].
func (s *filterState) Unit() string {
	if s.kind == renyiFilter {
		return fmt.Sprintf("Rényi divergence at order %g", s.order)
	}
	return "squared Gaussian-DP parameter μ²"
}

// Budget returns the whole budget, in [Filter.Unit].
func (f *Filter) Budget() float64 { return f.budget.main }

// Spent returns the sum of the costs so far, rounded up, in [Filter.Unit].
func (f *Filter) Spent() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.spent.main
}

// SpentDivergence returns how much of the reserve for noise that is not exactly Gaussian was spent.
// It is a max divergence, rounded up. For a Rényi filter, it is 0.
func (f *Filter) SpentDivergence() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.spent.divergence
}

// Left returns the remaining budget, rounded down, in [Filter.Unit].
func (f *Filter) Left() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return left(f.spent.main, f.budget.main)
}

func left(spent, budget float64) float64 { return max(0, -addUp(spent, -budget)) }

// Epsilon returns the ε of the releases so far, at the target's δ, as if they had been fixed in
// advance. It is only for information: if releases depend on earlier ones, the guarantee is the
// whole [Filter.Target], no matter how little was spent.
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

// A BudgetError is the error for a release that costs more than the budget has left.
type BudgetError struct {
	Unit   string // unit of Asked, Left and Budget
	Asked  float64
	Left   float64 // remaining budget, which is less than Asked
	Budget float64
}

func newBudgetError(unit string, asked, spent, budget float64) *BudgetError {
	return &BudgetError{Unit: unit, Asked: asked, Left: left(spent, budget), Budget: budget}
}

func (e *BudgetError) Error() string {
	message := fmt.Sprintf("the release costs %.6g of %s, and %.6g of %.6g is left", e.Asked, e.Unit, e.Left, e.Budget)
	switch {
	case e.Left <= 0:
		return message + ": the budget is spent, and this data cannot be used for another release"
	case e.Unit == divergenceUnit:
		return message + ": use noise on a finer grid or in fewer dimensions"
	}
	return message + fmt.Sprintf(": multiply the noise by about %.3g, or release less", math.Sqrt(e.Asked/e.Left)*1.001)
}
