package session

import (
	"fmt"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

// A Charge is a cost against an observer under an adjacency.
type Charge struct {
	View      method.View
	Adjacency accountant.Adjacency
	Event     accountant.Event
}

// Spent is the cost of a release: a charge for every observer and adjacency for which the study
// states costs, the study's own first. It is empty if the release is a function of earlier
// releases, or if the study has no privacy promise. All releases of a client together,
// composed, cost at most what [pvi.Protocol.Event] states for the whole study.
type Spent []Charge

// For returns the cost against the observer of a name under an adjacency; it returns nil if
// nothing was spent, or if the study states no such cost.
func (s Spent) For(view string, adjacency accountant.Adjacency) accountant.Event {
	for _, c := range s {
		if c.View.Name == view && c.Adjacency == adjacency {
			return c.Event
		}
	}
	return nil
}

// Costs returns a client's costs of the whole study, for every observer and adjacency for which
// a cost is stated, the study's own first. It is empty if the study has no privacy promise.
func Costs(st *study.Study, roster []pvi.ClientID) ([]method.Cost, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	return c.public.Costs(c.public.Releases())
}

// Whole returns the events of all releases of a client in the study, whose costs are those of Costs. They can be
// composed with earlier releases.
func Whole(st *study.Study, roster []pvi.ClientID) (Spent, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	return c.each(func(view method.View, adjacency accountant.Adjacency) (accountant.Event, error) {
		return c.public.Event(view, adjacency, c.public.Releases())
	})
}

// Public returns the protocol of a study for a roster, for descriptions of the study. If the
// study has a scale phase, the protocol is on the public scale.
func Public(st *study.Study, roster []pvi.ClientID) (*pvi.Protocol, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	return c.public, nil
}

// each makes a charge for every observer and adjacency.
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

// costOfRounds returns the cost of releases from+1 to to.
func (c *course) costOfRounds(from, to int) (Spent, error) {
	if from == to {
		return nil, nil
	}
	return c.each(func(view method.View, adjacency accountant.Adjacency) (accountant.Event, error) {
		return c.protocol.Increment(view, adjacency, from, to)
	})
}
