package pvi

import (
	"encoding/json"
	"errors"
	"fmt"

	"fedpvi/pvi/phase"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// siteState is what a Site has to remember.
type siteState struct {
	Version  int
	Protocol Digest
	Client   ClientID
	Lambda   []Wide
	Sequence int
	Answered int
	Factor   []Wide
	Proposed []int64
	Centre   []int64
	Open     int
	Spent    spending
	Solver   []byte
	Parts    *partsState `json:",omitempty"`
	Descent  []byte      `json:",omitempty"`
}

// MarshalBinary returns the site's state. It holds what must not leave the
// house: the client's own factor.
func (s *Site) MarshalBinary() ([]byte, error) {
	v := siteState{
		Version:  phase.StateVersion,
		Protocol: s.protocol.digest,
		Client:   s.id,
		Lambda:   s.q.lambda,
		Sequence: s.sequence,
		Answered: s.answered,
		Factor:   s.factor,
		Proposed: s.proposed,
		Centre:   s.centre,
		Open:     s.open,
		Spent:    s.spent,
		Solver:   s.solverState(),
		Descent:  s.q.summed.marshal(),
	}
	if s.parts != nil {
		v.Parts = s.parts.state()
	}
	return json.Marshal(v)
}

// Restore sets a new site to a state that MarshalBinary returned.
func (s *Site) Restore(state []byte) error {
	p := s.protocol
	var v siteState
	if err := phase.DecodeState(state, &v, p.siteElements()); err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	if err := errors.Join(
		phase.CheckState(v.Version, "protocol", v.Protocol, p.digest),
		phase.Within("elements of the factor", len(v.Factor), len(s.factor), len(s.factor)),
		phase.Within("elements of the proposal", len(v.Proposed), len(s.proposed), len(s.proposed)),
		phase.Within("last plan answered", v.Answered, 0, p.Plans()),
		phase.Within("outcomes", v.Sequence, 0, p.Plans()),
		phase.Within("open plan", v.Open, 0, v.Answered),
		v.checkSpending(p),
		v.checkOpen(p),
	); err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	if v.Client != s.id {
		return fmt.Errorf("restoring client %s: the state is of client %q", s.id, v.Client)
	}
	if err := s.q.restore(v.Lambda, v.Descent, v.Sequence == p.Plans()); err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	if err := s.restoreSolver(&v); err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	if d, ok := s.solver.(releaser); ok && d.Releases() != v.Spent.Statistics {
		err := fmt.Errorf("restoring client %s: %d sums were released and %d charged", s.id, d.Releases(), v.Spent.Statistics)
		return errors.Join(err, d.Restore(nil)) // nothing is charged, so nothing may be taken
	}
	s.sequence, s.answered, s.open, s.spent, s.centre = v.Sequence, v.Answered, v.Open, v.Spent, v.Centre
	copy(s.factor, v.Factor)
	copy(s.proposed, v.Proposed)
	return nil
}

// A releaser is a solver that knows how many sums it has released.
type releaser interface {
	solver.Solver
	Releases() int
}

// solverState returns what the solver has to remember beyond what the site counts.
func (s *Site) solverState() []byte {
	if s.solver == nil {
		return nil
	}
	return s.solver.State()
}

// restoreSolver restores what the solver, or the solvers of parts, remember.
func (s *Site) restoreSolver(v *siteState) error {
	if s.parts != nil {
		return s.parts.restore(v.Parts, v.Spent.Changes > 0)
	}
	if v.Parts != nil {
		return errors.New("the state has parts, and the study has none")
	}
	if s.gradients != nil {
		return s.gradients.Resume(v.Spent.Statistics)
	}
	return s.solver.Restore(v.Solver)
}

// checkSpending refuses a state whose charges cannot be those of its releases:
// one that would release again, or has released more than it says.
func (v *siteState) checkSpending(p *Protocol) error {
	most, statistics := 0, 0
	if p.changes() != nil {
		most = min(p.Releases(), v.Answered)
	}
	if p.records != nil {
		statistics = p.Releases()
	}
	if p.sampled != nil {
		statistics = p.ReleasesAfter(v.Answered)
	}
	kept := len(v.Solver) > 0 // statistics that were released and are reused
	reused := p.records != nil && p.study.Inference.Factors != study.Published
	switch {
	case v.Spent.Changes < 0 || v.Spent.Changes > most || v.Spent.Statistics < 0 || v.Spent.Statistics > statistics:
		return fmt.Errorf("%d changes and %d statistics released: more than the study pays for, or none at all", v.Spent.Changes, v.Spent.Statistics)
	case v.Answered > 0 && (p.changes() != nil && v.Spent.Changes == 0 || p.changes() == nil && most+statistics > 0 && v.Spent.Statistics == 0):
		return errors.New("plans were answered and nothing was charged")
	case p.sampled != nil && !p.Summed() && kept != (v.Spent.Statistics > 0):
		return errors.New("steps were charged and are not there, or are there and were not charged")
	case reused && kept != (v.Spent.Statistics > 0):
		return errors.New("statistics were charged and are not there, or are there and were not charged")
	}
	return nil
}

func (v *siteState) checkOpen(p *Protocol) error {
	if v.Open == 0 {
		return phase.Within("elements of the centre", len(v.Centre), 0, 0)
	}
	return p.checkCentre(v.Centre)
}

// restore sets the posterior to a λ that was saved, and to the descent that led to it
// if sums move q. done says that the study is at its end.
func (q *posterior) restore(lambda []Wide, descent []byte, done bool) error {
	if len(lambda) != len(q.lambda) {
		return fmt.Errorf("λ has %d elements, want %d", len(lambda), len(q.lambda))
	}
	if err := q.restoreDescent(descent, lambda, done); err != nil || q.summed != nil {
		return err
	}
	if !q.set(lambda) {
		return errors.New("λ is no proper distribution")
	}
	return nil
}
