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
// states costs. The charge for the study's own target comes first. Spent is empty if the answer
// costs nothing, because its release is a function of earlier releases or was charged with them, or
// because the study has no privacy guarantee. If a client's charges for all of its answers are
// composed, the cost is at most that of the event from [pvi.Protocol.Event] for the whole study.
type Spent []Charge

// Strongest returns the charge that counts towards a data holder's budget under an adjacency. view
// names the observer against whom the data holder limits its budget. If view is [method.Anyone] or
// [method.Coordinator], Strongest returns the charge for that observer. Otherwise it considers all
// observers that the study does not trust, and returns the charge for the one that does not know
// the fewest noise shares. Strongest returns false if there is no such charge.
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

// Whole returns the charges for all releases of a client in the study, whose costs [Costs] returns.
// Unlike costs, charges can be composed with the events of other studies.
func Whole(st *study.Study, roster []pvi.ClientID) (Spent, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	return c.each(func(view method.View, adjacency accountant.Adjacency) (accountant.Event, error) {
		return c.public.Event(view, adjacency, c.public.Releases())
	})
}

// Public returns the protocol of the rounds of a study, by which programs describe the study before
// it begins. If a scale phase must first find the scale of the columns, the protocol uses their
// public bounds instead.
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
