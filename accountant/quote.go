package accountant

import "fmt"

// Quote returns what [Filter.Charge] would add to [Filter.Spent] for the event e, with the
// error that it would return: a [*BudgetError] comes with the cost that is too much. It
// counts nothing.
func (f *Filter) Quote(e Event) (cost float64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, c, err := f.after(e)
	return c.main, err
}

// after returns what is spent when e is admitted, and what e costs.
func (s *filterState) after(e Event) (spent, cost filterCost, err error) {
	if cost, err = s.cost(e); err != nil {
		return filterCost{}, filterCost{}, fmt.Errorf("charge: %w", err)
	}
	spent = filterCost{
		main:       addUp(s.spent.main, cost.main),
		divergence: addUp(s.spent.divergence, cost.divergence),
	}
	if spent.main > s.budget.main {
		return spent, cost, newBudgetError(s.unit(), cost.main, s.spent.main, s.budget.main)
	}
	if spent.divergence > s.budget.divergence {
		return spent, cost, newBudgetError(divergenceUnit, cost.divergence, s.spent.divergence, s.budget.divergence)
	}
	return spent, cost, nil
}

// Clone returns a filter of its own that has spent the same.
func (f *Filter) Clone() *Filter {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Filter{filterState: f.filterState}
}
