package session

import (
	"fmt"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

// A Charge is the cost for one observer and one adjacency.
type Charge struct {
	View      method.View
	Adjacency accountant.Adjacency
	Event     accountant.Event
}

// Spent is the cost of an answer. It has a charge for each observer and adjacency, beginning with
// those of the study's own target. It is empty if the answer costs nothing. All charges of a client
// add up to at most the [pvi.Protocol.Event] of the whole study.
type Spent []Charge

// Strongest returns the charge that counts towards a data holder's budget under the given
// adjacency. If view is [method.Anyone] or [method.Coordinator], this is the charge for that
// observer. Otherwise it is the charge for the strongest observer that the study does not trust,
// that is, the one that can subtract the most noise.
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

// Costs returns a client's cost of the whole study, for each observer and adjacency. The cost for
// the study's own target comes first. The list is empty without a privacy guarantee.
func Costs(st *study.Study, roster []pvi.ClientID) ([]method.Cost, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	return c.public.Costs(c.public.Releases())
}

// Whole returns the charges for all releases of a client. In contrast to [Costs], charges can be
// composed with those of other studies.
func Whole(st *study.Study, roster []pvi.ClientID) (Spent, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	return c.each(func(view method.View, adjacency accountant.Adjacency) (accountant.Event, error) {
		return c.public.Event(view, adjacency, c.public.Releases())
	})
}

// Public returns the protocol of the rounds as it is known before the study begins. If a scale
// phase has to find the scale first, the protocol is for the public bounds.
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
