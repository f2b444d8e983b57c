package pvi

import (
	"fedpvi/accountant"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

// atHolders converts the cost of one client's releases to the cost for a person with records at
// several clients. The clients draw noise and samples independently, so their costs compose. If
// only sums are opened, nothing needs to be converted, because the mechanisms already count the
// person's records at all clients ([method.Setting.PerUnit]).
func (p *Protocol) atHolders(event accountant.Event) accountant.Event {
	if n := p.study.MessagesOfPerson(len(p.roster.Clients)); n > 1 {
		return accountant.Repeated{Event: event, Times: n}
	}
	return event
}

// CostAtTwo returns the proved cost of the whole study for a person with rows at two clients. It
// applies to studies that promise protection only to people with rows at a single client; for all
// others ok is false. If sampling makes it impossible to bound the cost, known is false.
//
// If anyone may read messages, the releases of the two clients compose. If only sums are opened,
// the person can change a sum by twice the sensitivity.
func (p *Protocol) CostAtTwo(view method.View, adjacency accountant.Adjacency) (cost method.Cost, known, ok bool, err error) {
	privacy := p.study.Privacy
	if privacy.Unit != study.Person || privacy.PeopleAcross > 1 || len(p.roster.Clients) < 2 {
		return cost, false, false, nil
	}
	event, err := p.Event(view, adjacency, p.Releases())
	if err != nil {
		return cost, false, true, err
	}
	if p.study.Federation.Opens == study.OpenSums {
		if event, known = twice(event); !known {
			return cost, false, true, nil
		}
	} else {
		event = accountant.Repeated{Event: event, Times: 2}
	}
	cost, _, err = p.account(event, view, adjacency)
	return cost, true, true, err
}

// twice returns the event with its sensitivity doubled. No bound is known for this if releases are
// sampled.
func twice(e accountant.Event) (doubled accountant.Event, ok bool) {
	switch e := e.(type) {
	case accountant.Gaussian:
		e.Sensitivity *= 2
		return e, true
	case accountant.DiscreteGaussian:
		e.Sensitivity *= 2
		return e, true
	case accountant.Repeated:
		e.Event, ok = twice(e.Event)
		return e, ok
	case accountant.Composed:
		all := make(accountant.Composed, len(e))
		for i := range e {
			if all[i], ok = twice(e[i]); !ok {
				return nil, false
			}
		}
		return all, true
	}
	return nil, false
}
