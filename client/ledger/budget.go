package ledger

import (
	"fmt"
	"math"

	"fedpvi/accountant"
)

// These are the kinds of filters. A filter decides whether a release fits into a budget.
const (
	Gaussian = "gaussian" // exact for Gaussian releases; refuses all other releases
	Renyi    = "renyi"    // adds up Rényi divergences of one fixed order; accepts all releases
)

// Privacy units.
const (
	Record = "record" // one record of the data set
	Person = "person" // all records of one person in the data set
	Client = "client" // the whole data set
)

// A Budget limits the privacy loss of a data set to (ε, δ). The limit never changes.
type Budget struct {
	Unit string `json:"unit"` // Record, Person or Client
	// if the unit is Person: column that identifies the person that a row is about
	Person    string               `json:"person,omitempty"`
	Adjacency accountant.Adjacency `json:"adjacency"`
	Epsilon   float64              `json:"epsilon"`
	Delta     float64              `json:"delta"`
	Filter    string               `json:"filter"`          // Gaussian or Renyi
	Order     float64              `json:"order,omitempty"` // order of a Rényi filter; 0 for other filters
}

// NewBudget returns a budget with the limit target. If the unit is Person, person is the column
// that identifies the person that a row is about. If all planned releases are Gaussian, the filter
// is Gaussian, and later studies on the data set must have Gaussian releases as well. Otherwise it
// is a Rényi filter of order 1 + 2·log(1/δ)/ε.
func NewBudget(unit, person string, adjacency accountant.Adjacency, target accountant.Target, planned accountant.Event) (Budget, error) {
	b := Budget{Unit: unit, Person: person, Adjacency: adjacency, Epsilon: target.Epsilon, Delta: target.Delta, Filter: Gaussian}
	profile, err := accountant.Account(planned)
	if err != nil {
		return Budget{}, err
	}
	if !profile.Gaussian() {
		b = b.AtOrder(0)
	}
	_, err = b.NewFilter()
	return b, err
}

// AtOrder returns a copy of the budget with a Rényi filter of the given order. If order is 0, the
// order is 1 + 2·log(1/δ)/ε.
func (b Budget) AtOrder(order float64) Budget {
	if order == 0 {
		order = 1 + 2*math.Log(1/b.Delta)/b.Epsilon
	}
	b.Filter, b.Order = Renyi, order
	return b
}

// Target returns the ε and δ of the budget.
func (b Budget) Target() accountant.Target {
	return accountant.Target{Epsilon: b.Epsilon, Delta: b.Delta}
}

// Protects names the privacy unit of the budget in words.
func (b Budget) Protects() string {
	switch b.Unit {
	case Record:
		return "one row"
	case Person:
		return fmt.Sprintf("one person, by the column %s", b.Person)
	}
	return "one " + b.Unit
}

// InWords describes the limit and the privacy unit of the budget in words.
func (b Budget) InWords() string {
	return fmt.Sprintf("ε ≤ %g at δ = %g for %s (%s), for all time", b.Epsilon, b.Delta, b.Protects(), b.Adjacency)
}

// NewFilter returns a new filter that enforces the budget. It has no charges yet.
func (b Budget) NewFilter() (*accountant.Filter, error) {
	if b.Unit != Record && b.Unit != Person && b.Unit != Client {
		return nil, fmt.Errorf("unknown privacy unit %q: use %q, %q or %q", b.Unit, Record, Person, Client)
	}
	if (b.Unit == Person) != (b.Person != "") {
		return nil, fmt.Errorf("a budget for a %s has the person column %q: only a budget for a person has this column, and it needs one", b.Unit, b.Person)
	}
	switch b.Filter {
	case Gaussian:
		if b.Order != 0 {
			return nil, fmt.Errorf("a %s filter has no order", Gaussian)
		}
		return accountant.NewGaussianFilter(b.Target(), b.Adjacency)
	case Renyi:
		return accountant.NewRenyiFilter(b.Target(), b.Order, b.Adjacency)
	}
	return nil, fmt.Errorf("unknown filter %q: use %q or %q", b.Filter, Gaussian, Renyi)
}
