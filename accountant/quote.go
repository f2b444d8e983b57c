package accountant

import "fmt"

// Quote returns how much [Filter.Charge] would add to [Filter.Spent] for the event e, and the error
// that Charge would return. It does not change the filter. Even if the error is a [*BudgetError],
// cost is the cost of e.
func (f *Filter) Quote(e Event) (cost float64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, c, err := f.after(e)
	return c.main, err
}

// after returns the cost of e, and the total spending if e is admitted. If this would exceed the
// budget, the error is a [*BudgetError].
func (s *filterState) after(e Event) (spent, cost filterCost, err error) {
	if cost, err = s.cost(e); err != nil {
		return filterCost{}, filterCost{}, fmt.Errorf("charge: %w", err)
	}
	spent = filterCost{
		main:       addUp(s.spent.main, cost.main),
		divergence: addUp(s.spent.divergence, cost.divergence),
	}
	if spent.main > s.budget.main {
		return spent, cost, newBudgetError(s.Unit(), cost.main, s.spent.main, s.budget.main)
	}
	if spent.divergence > s.budget.divergence {
		return spent, cost, newBudgetError(divergenceUnit, cost.divergence, s.spent.divergence, s.budget.divergence)
	}
	return spent, cost, nil
}

// Clone returns a separate filter with the same budget and spending.
func (f *Filter) Clone() *Filter {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Filter{filterState: f.filterState}
}
