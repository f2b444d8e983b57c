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

// Spent is the cost of an answer: a charge for every observer and adjacency, the study's own target
// first. It is empty if the answer costs nothing. All charges of a client together cost at most the
// event from [pvi.Protocol.Event] for the whole study.
type Spent []Charge

// Strongest returns the charge that counts towards a data holder's budget under an adjacency. If
// view is [method.Anyone] or [method.Coordinator], it is the charge for that observer. Otherwise it
// is the charge for the strongest observer that the study does not trust: the one with the fewest
// noise shares that it cannot subtract.
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

// Costs returns the cost of the whole study for a client, for every observer and adjacency, the
// study's own target first. The list is empty without a privacy guarantee.
func Costs(st *study.Study, roster []pvi.ClientID) ([]method.Cost, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	return c.public.Costs(c.public.Releases())
}

// Whole returns the charges for all releases of a client. Unlike [Costs], charges can be composed
// with other studies.
func Whole(st *study.Study, roster []pvi.ClientID) (Spent, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	return c.each(func(view method.View, adjacency accountant.Adjacency) (accountant.Event, error) {
		return c.public.Event(view, adjacency, c.public.Releases())
	})
}

// Public returns the protocol that describes the rounds before the study begins. It uses the public
// bounds if a scale phase must first find the scale.
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
