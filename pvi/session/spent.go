package session

import (
	"fmt"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

// A Charge is a cost for one observer and one adjacency.
type Charge struct {
	View      method.View
	Adjacency accountant.Adjacency
	Event     accountant.Event
}

// Spent is the cost of an answer: a charge for every observer and adjacency for which the study
// states costs. The charge for the study's own target comes first. Spent is empty if the release
// is a function of earlier releases, or if the study has no privacy guarantee. The composed cost
// of all releases of a client is at most the cost that [pvi.Protocol.Event] returns for the
// whole study.
type Spent []Charge

// Strongest returns the charge, under an adjacency, for the observer against whom a data holder
// limits its budget. If view is [method.Anyone] or [method.Coordinator], this is the observer with
// that name. Otherwise it is the observer from whom the fewest noise shares are hidden, among the
// observers that the study does not trust. Strongest returns false if there is no such charge.
func (s Spent) Strongest(view string, adjacency accountant.Adjacency) (strongest Charge, ok bool) {
	for _, c := range s {
		match := c.View.Name == view
		if view != method.Anyone && view != method.Coordinator {
			match = !c.View.Trusted() && (!ok || c.View.Shares < strongest.View.Shares)
		}
		if match && c.Adjacency == adjacency {
			strongest, ok = c, true
		}
	}
	return strongest, ok
}

// Costs returns the cost of the whole study for a client, for every observer and adjacency for
// which the study states a cost. The cost for the study's own target comes first. The list is empty
// if the study has no privacy guarantee.
func Costs(st *study.Study, roster []pvi.ClientID) ([]method.Cost, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	return c.public.Costs(c.public.Releases())
}

// Whole returns the events of all releases of a client in the study, with the costs that Costs
// returns. Unlike costs, events can be composed with the events of earlier releases.
func Whole(st *study.Study, roster []pvi.ClientID) (Spent, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	return c.each(func(view method.View, adjacency accountant.Adjacency) (accountant.Event, error) {
		return c.public.Event(view, adjacency, c.public.Releases())
	})
}

// Public returns the protocol of a study for a roster. Programs use it to describe the study
// before it begins. If a scale phase must first find the scale of the columns, the protocol uses
// their public bounds instead.
func Public(st *study.Study, roster []pvi.ClientID) (*pvi.Protocol, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	return c.public, nil
}

func (c *course) each(event func(method.View, accountant.Adjacency) (accountant.Event, error)) (Spent, error) {
	var spent Spent
	for _, view := range c.public.Views() {
		for _, adjacency := range c.public.Adjacencies() {
			e, err := event(view, adjacency)
			if err != nil {
				return nil, fmt.Errorf("the cost against %q under %s: %w", view.Name, adjacency, err)
			}
			spent = append(spent, Charge{view, adjacency, e})
		}
	}
	return spent, nil
}

func (c *course) costOfRounds(from, to int) (Spent, error) {
	if from == to {
		return nil, nil
	}
	return c.each(func(view method.View, adjacency accountant.Adjacency) (accountant.Event, error) {
		return c.protocol.Increment(view, adjacency, from, to)
	})
}
