package accountant

import (
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

var testTarget = Target{Epsilon: 1, Delta: 1e-5}

func filters(t testing.TB, target Target, order float64, adjacency Adjacency) []*Filter {
	t.Helper()
	g, err := NewGaussianFilter(target, adjacency)
	check(t, err)
	r, err := NewRenyiFilter(target, order, adjacency)
	check(t, err)
	return []*Filter{g, r}
}

// drawTarget draws a target whose log ε is between low and high, and whose log δ is between least
// and −1.
func drawTarget(t *rapid.T, low, high, least float64) Target {
	return Target{
		Epsilon: math.Exp(rapid.Float64Range(low, high).Draw(t, "log epsilon")),
		Delta:   math.Exp(rapid.Float64Range(least, -1).Draw(t, "log delta")),
	}
}

func drawFilter(t *rapid.T) *Filter {
	target := drawTarget(t, -3, 4, -40)
	var f *Filter
	var err error
	if rapid.Bool().Draw(t, "gaussian") {
		f, err = NewGaussianFilter(target, ZeroOut)
	} else {
		order := 1 + math.Exp(rapid.Float64Range(-2, 5).Draw(t, "log order"))
		f, err = NewRenyiFilter(target, order, ZeroOut)
	}
	check(t, err)
	return f
}

func drawEvent(t *rapid.T) Event {
	noise := math.Exp(rapid.Float64Range(-2, 8).Draw(t, "log noise multiplier"))
	times := rapid.IntRange(0, 5).Draw(t, "times")
	switch rapid.IntRange(0, 2).Draw(t, "kind of event") {
	case 0:
		return Gaussian{1, noise, ZeroOut}
	case 1:
		const grid = 1 << 23
		return DiscreteGaussian{grid / noise, grid, 1, 100, ZeroOut}
	}
	return Composed{Repeated{Gaussian{1, noise, ZeroOut}, times}}
}

// The exact profile of all releases that the filter has admitted must meet the target, and must
// come close to it.
func TestGaussianFilterMeetsTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		target := drawTarget(t, -5, 4, -40)
		f, err := NewGaussianFilter(target, ZeroOut)
		check(t, err)
		var admitted Composed
		for range 20 {
			// Because of rounding, the event may cost slightly more than the part of the remaining
			// budget that was drawn.
			part := rapid.Float64Range(.01, 1).Draw(t, "part")
			e := Event(Gaussian{math.Sqrt(part * f.Left()), 1, ZeroOut})
			if f.Charge(e) == nil {
				admitted = append(admitted, e)
			}
		}
		fill := Gaussian{math.Sqrt(f.Left()) * (1 - 0x1p-40), 1, ZeroOut}
		if f.Left() > 0 {
			check(t, f.Charge(fill))
			admitted = append(admitted, fill)
		}
		got := epsilonOf(t, admitted, target.Delta).Upper
		if got > target.Epsilon {
			t.Fatalf("the admitted releases cost ε = %.17g, above the target %.17g", got, target.Epsilon)
		}
		if got < target.Epsilon*(1-1e-7) {
			t.Fatalf("a full filter costs ε = %g, below the target %g", got, target.Epsilon)
		}
		if estimate := f.Epsilon(); estimate > target.Epsilon || math.Abs(estimate-got) > 1e-9*got {
			t.Fatalf("Epsilon() = %.17g for releases that cost %.17g", estimate, got)
		}
	})
}

func TestRenyiFilterMeetsTarget(t *testing.T) {
	for _, order := range []float64{1.5, 8, 24, 64} {
		f, err := NewRenyiFilter(testTarget, order, ZeroOut)
		check(t, err)
		n := 0
		e := Gaussian{1, 100, ZeroOut}
		for f.Charge(e) == nil {
			n++
		}
		if got := f.Epsilon(); got > testTarget.Epsilon {
			t.Errorf("order %g: ε = %g, above the target", order, got)
		}
		if got := epsilonOf(t, Repeated{e, n}, testTarget.Delta).Upper; got > testTarget.Epsilon {
			t.Errorf("order %g: %d releases cost ε = %g, above the target", order, n, got)
		}
		// At the best order, a Rényi filter must admit at least 70 % of the releases that the
		// target allows.
		if exact := math.Pow(GaussianMu(1, 1e-5)*100, 2); order == 24 && float64(n) < .7*exact {
			t.Errorf("order %g admits %d releases, where %g are possible", order, n, exact)
		}
	}
}

func TestFilterSpendIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFilter(t)
		exact := 0.0 // lower bound on the spending
		for range rapid.IntRange(1, 30).Draw(t, "releases") {
			e := drawEvent(t)
			before := f.filterState
			spent := before.spent.main
			cost, err := f.cost(e)
			if err != nil || !(cost.main >= 0) || !(cost.divergence >= 0) {
				t.Fatalf("%+v costs %+v, %v", e, cost, err)
			}
			err = f.Charge(e)
			var refusal *BudgetError
			switch {
			case err == nil:
				exact += cost.main * (1 - 0x1p-48)
			case !errors.As(err, &refusal):
				t.Fatal(err)
			case f.filterState != before:
				t.Fatalf("a refusal changed %+v to %+v", before, f.filterState)
			case !(refusal.Asked > refusal.Left) || refusal.Left < 0 || refusal.Budget < refusal.Left:
				t.Fatalf("refused: %+v", refusal)
			}
			if f.Spent() < spent || f.Spent() < exact*(1-0x1p-45) || f.Spent() > f.Budget() || f.Spent()+f.Left() > f.Budget()*(1+0x1p-52) {
				t.Fatalf("spent %g after %g, exactly %g, left %g of %g", f.Spent(), spent, exact, f.Left(), f.Budget())
			}
			if got := f.Epsilon(); !(got >= 0 && got <= f.target.Epsilon) {
				t.Fatalf("ε = %g of %g", got, f.target.Epsilon)
			}
		}
	})
}

func TestFilterCostIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFilter(t)
		sensitivity := math.Exp(rapid.Float64Range(-5, 5).Draw(t, "log sensitivity"))
		more := sensitivity * rapid.Float64Range(1, 3).Draw(t, "factor")
		n := rapid.IntRange(0, 1000).Draw(t, "n")
		m := n + rapid.IntRange(0, 1000).Draw(t, "more")
		cost := func(sensitivity float64, n int) filterCost {
			c, err := f.cost(Repeated{DiscreteGaussian{sensitivity * (1 << 20), 1 << 20, 3, 7, ZeroOut}, n})
			check(t, err)
			return c
		}
		least := cost(sensitivity, n)
		for _, c := range []filterCost{cost(more, n), cost(sensitivity, m)} {
			if c.main < least.main || c.divergence < least.divergence {
				t.Fatalf("cost %+v for a larger event than one that costs %+v", c, least)
			}
		}
	})
}

func TestFilterOrderOfCharges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFilter(t)
		g := f.Clone()
		events := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Event {
			// At most nine events are drawn, each for at most a tenth of the budget, so the filter
			// must admit all of them.
			part := rapid.Float64Range(0, .1).Draw(t, "part")
			return Gaussian{math.Sqrt(part * f.Budget() / max(1, f.order)), 1, ZeroOut}
		}), 1, 9).Draw(t, "events")
		for i, e := range events {
			check(t, errors.Join(f.Charge(e), g.Charge(events[len(events)-1-i])))
		}
		if a, b := f.Spent(), g.Spent(); math.Abs(a-b) > 1e-14*a {
			t.Fatalf("spent %.17g in one order and %.17g in the other", a, b)
		}
	})
}

func TestFilterRefusals(t *testing.T) {
	good := Gaussian{1, 1000, ZeroOut}
	for _, f := range append(filters(t, testTarget, 20, ZeroOut), new(Filter)) {
		for _, c := range []struct {
			event Event
			want  string
		}{
			{nil, "no event"},
			{Composed{good, nil}, "nil event"},
			{Repeated{good, -1}, "≥ 0"},
			{Gaussian{1, 0, ZeroOut}, "sigma must be positive"},
			{Gaussian{math.NaN(), 1, ZeroOut}, "sensitivity must be non-negative"},
			{Gaussian{-1, 1, ZeroOut}, "sensitivity must be non-negative"},
			{Gaussian{1e200, 1, ZeroOut}, "overflows a float64"},
			{Gaussian{1, 1000, ReplaceOne}, `under "replace-one"`},
			{Gaussian{1, 1, ZeroOut}, "is left: multiply the noise by about"},
			{good, ""},
		} {
			before := f.filterState
			err := f.Charge(c.event)
			if f.kind == "" { // the zero filter has no budget and returns an error
				if err == nil {
					t.Errorf("the zero filter admits %+v", c.event)
				}
				continue
			}
			if c.want == "" {
				if err != nil {
					t.Errorf("%s filter: Charge(%+v): %v", f.kind, c.event, err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || f.filterState != before {
				t.Errorf("%s filter: Charge(%+v): %v, want an error with %q and no change", f.kind, c.event, err, c.want)
			}
		}
	}
}

// If the lattice is too coarse for the noise, the reserve for the max divergence is exceeded, and
// the error must give the cost as a max divergence. Even when the budget is spent, an event without
// a cost must be admitted.
func TestBudgetErrors(t *testing.T) {
	f := filters(t, testTarget, 20, AddRemove)[0]
	var refusal *BudgetError
	coarse := DiscreteGaussian{1, 1024, 1, 1, AddRemove}
	if err := f.Charge(coarse); !errors.As(err, &refusal) || refusal.Unit != divergenceUnit || refusal.Budget != filterDivergence {
		t.Errorf("Charge(%+v): %v, want a refusal for its divergence", coarse, err)
	}
	f.spent.main = f.budget.main
	if err := f.Charge(Gaussian{1, 1, AddRemove}); err == nil || !strings.Contains(err.Error(), "the budget is spent") {
		t.Errorf("a charge to a spent filter: %v", err)
	}
	for _, e := range []Event{Composed{}, Gaussian{0, 1, AddRemove}} {
		if err := f.Charge(e); err != nil {
			t.Errorf("Charge(%+v): %v", e, err)
		}
	}
	if f.Left() != 0 || f.Epsilon() > testTarget.Epsilon {
		t.Errorf("left %g, ε = %g", f.Left(), f.Epsilon())
	}
}

func TestNewFilterErrors(t *testing.T) {
	for _, c := range []struct {
		target    Target
		order     float64
		adjacency Adjacency
	}{
		{Target{0, 1e-5}, 2, ZeroOut},
		{Target{1, 0}, 2, ZeroOut},
		{Target{1, 1}, 2, ZeroOut},
		{Target{math.Inf(1), 1e-5}, 2, ZeroOut},
		{testTarget, 2, ""},
		{testTarget, 1, ZeroOut},
		{testTarget, math.NaN(), ZeroOut},
		{testTarget, math.Inf(1), ZeroOut},
	} {
		if _, err := NewRenyiFilter(c.target, c.order, c.adjacency); err == nil {
			t.Errorf("NewRenyiFilter(%+v, %g, %q) gives no error", c.target, c.order, c.adjacency)
		}
		if c.order != 2 {
			continue
		}
		if _, err := NewGaussianFilter(c.target, c.adjacency); err == nil {
			t.Errorf("NewGaussianFilter(%+v, %q) gives no error", c.target, c.adjacency)
		}
	}
	if _, err := NewGaussianFilter(Target{1e-13, 1e-13}, ZeroOut); err == nil {
		t.Error("no error for a target below the reserved divergence")
	}
}

// Many goroutines try to charge the last part of a budget. Exactly one of them must succeed.
func TestFilterRace(t *testing.T) {
	for _, f := range filters(t, testTarget, 20, ZeroOut) {
		e := Gaussian{1, 10 * math.Sqrt(max(1, f.order)/f.Budget()), ZeroOut}
		cost, err := f.cost(e)
		check(t, err)
		f.spent.main = f.budget.main - 1.5*cost.main
		var wait sync.WaitGroup
		var winners atomic.Int64
		for range 64 {
			wait.Go(func() {
				if f.Charge(e) == nil {
					winners.Add(1)
				}
				if f.Spent()+f.Left() > f.Budget()*(1+0x1p-50) || f.Epsilon() < 0 {
					t.Error("inconsistent state seen")
				}
			})
		}
		wait.Wait()
		if n := winners.Load(); n != 1 {
			t.Errorf("%d charges of %g were admitted to %g", n, cost.main, 1.5*cost.main)
		}
	}
}

func TestAddUp(t *testing.T) {
	for _, c := range []struct{ a, b, want float64 }{
		{0, 0, 0},
		{0, .1, .1},
		{1, 2, 3},
		{1, 0x1p-60, 1 + 0x1p-52},
		{0x1p-60, 1, 1 + 0x1p-52},
		{1 + 0x1p-52, 0x1p-53, 1 + 0x1p-51}, // the exact sum is halfway between two float64 numbers, and + rounds up
		{1, 0x1p-53, 1 + 0x1p-52},           // the exact sum is halfway between two float64 numbers, and + rounds down, so the result must be raised
		{1, -0x1p-60, 1},
		{0x1p-60, -1, -1 + 0x1p-53},
		{math.MaxFloat64, math.MaxFloat64, math.Inf(1)},
	} {
		if got := addUp(c.a, c.b); got != c.want {
			t.Errorf("addUp(%g, %g) = %.17g, want %.17g", c.a, c.b, got, c.want)
		}
	}
}
