package session

import (
	"fmt"

	"fedpvi/pvi"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

// A Kind is a kind of entry.
type Kind string

// The kinds of entries, in the order of phases.
const (
	ScalePlan      Kind = "scale-plan"
	ScaleOutcome   Kind = "scale-outcome"
	Plan           Kind = "plan"
	Outcome        Kind = "outcome"
	OneStepPlan    Kind = "one-step-plan"
	OneStepOutcome Kind = "one-step-outcome"
)

// An Entry is what the server says to all: a plan, or the outcome that ends it. Its body
// is a message of [fedpvi/pvi/wire]. It must not be changed.
type Entry struct {
	Kind Kind   `json:"kind"`
	Ask  int    `json:"ask"` // number of the question over all phases, from 1
	Body []byte `json:"body"`
}

// A phase of a study.
type phase int

const (
	scaling phase = iota
	rounds
	last
)

// kinds are the kinds of plans and outcomes by phase.
var kinds = [...]struct{ plan, outcome Kind }{
	scaling: {ScalePlan, ScaleOutcome},
	rounds:  {Plan, Outcome},
	last:    {OneStepPlan, OneStepOutcome},
}

// A course is what a study comes to for a roster, phase after phase, as every machine
// derives it for itself.
type course struct {
	study   *study.Study   // as it is written
	scaling *scale.Scaling // nil if the scale is public
	// public is the protocol on the public scale, which stands in for the one on the
	// scale that is found: costs and sizes are the same.
	public   *pvi.Protocol
	protocol *pvi.Protocol // of the rounds; nil until the scale is found
	limits   wire.Limits
}

// newCourse derives the course. A study that does something as it was published, though
// what is claimed for it does not hold, is refused: it is for simulations.
func newCourse(st *study.Study, roster []pvi.ClientID) (*course, error) {
	c := &course{study: st}
	onPublic := st
	var err error
	if !st.HasScale() {
		if c.scaling, err = scale.New(st, roster); err != nil {
			return nil, err
		}
		if onPublic, err = st.WithScale(st.PublicScale()); err != nil {
			return nil, err
		}
	}
	if c.public, err = pvi.NewProtocol(onPublic, roster); err != nil {
		return nil, err
	}
	if what := c.public.Published(); what != "" {
		return nil, fmt.Errorf("study %s: its %s are done as published, and what is claimed for that does not hold: a simulation may play it, clients with records of their own may not", st.Name, what)
	}
	if c.scaling == nil {
		c.protocol = c.public
	}
	c.limits = c.newLimits()
	return c, nil
}

// found derives the protocol on the scale that was found.
func (c *course) found(scaled *study.Study) (err error) {
	c.protocol, err = pvi.NewProtocol(scaled, c.public.Roster())
	return err
}

func (c *course) newLimits() wire.Limits {
	p := c.public
	l := wire.Limits{Elements: max(p.Family().Size(), p.MessageSize()), Clients: len(p.Roster())}
	for _, id := range p.Roster() {
		l.Name = max(l.Name, len(id))
	}
	for _, o := range p.After() {
		l.Elements = max(l.Elements, o.Gradient.Dim(), o.Curvature.Dim())
	}
	for _, n := range c.kindsOfPass() {
		l.Elements = max(l.Elements, c.scaling.Size(n))
	}
	return l
}

// passes returns the number of passes that find the scale.
func (c *course) passes() int {
	if c.scaling == nil {
		return 0
	}
	return c.scaling.Passes()
}

// asks returns the number of questions of the whole study.
func (c *course) asks() int {
	n := c.passes() + c.public.Plans()
	return n + len(c.public.After())
}

// at returns the phase of a question, and its number in it, from 1.
func (c *course) at(ask int) (phase, int) {
	n := ask - c.passes()
	switch {
	case n <= 0:
		return scaling, ask
	case n <= c.public.Plans():
		return rounds, n
	default:
		return last, n - c.public.Plans()
	}
}

// ask returns the number of a question over all phases.
func (c *course) ask(in phase, number int) int {
	switch in {
	case scaling:
		return number
	case rounds:
		return c.passes() + number
	}
	return c.asks()
}

// digest returns the identity of what is played while the scale is looked for, and of
// what is played after.
func (c *course) digest() [32]byte {
	if c.protocol == nil {
		return c.scaling.Digest()
	}
	return c.protocol.Digest()
}

func refuse(format string, args ...any) error {
	return &pvi.Refused{Reason: fmt.Sprintf(format, args...)}
}
