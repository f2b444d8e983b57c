package pvi

import (
	"encoding/json"
	"errors"
	"fmt"

	"fedpvi/pvi/method"
	"fedpvi/pvi/phase"
)

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
	Sent     *Digest `json:",omitempty"` // hash of the release for the open plan, if the study publishes releases
	Spent    method.Spent
	Solver   []byte
	Parts    json.RawMessage `json:",omitempty"`
	Descent  []byte          `json:",omitempty"` // state of the client's [method.Walk], if it has one
}

// MarshalBinary encodes the site's state. The state must not leave the client, because it contains
// the client's own factor.
func (s *Site) MarshalBinary() ([]byte, error) {
	var m method.Memory
	s.client.Save(&m)
	var sent *Digest
	if s.sent != (Digest{}) {
		sent = &s.sent
	}
	return json.Marshal(siteState{
		Sent:     sent,
		Version:  phase.StateVersion,
		Protocol: s.protocol.digest,
		Client:   s.id,
		Lambda:   s.q.lambda,
		Sequence: s.sequence,
		Answered: s.answered,
		Factor:   m.Factor,
		Proposed: m.Proposed,
		Centre:   s.centre,
		Open:     s.open,
		Spent:    m.Spent,
		Solver:   m.Solver,
		Parts:    m.Parts,
		Descent:  s.q.walk.Save(),
	})
}

// Restore gives a new site a state that MarshalBinary returned.
func (s *Site) Restore(state []byte) error {
	p := s.protocol
	var v siteState
	if err := phase.DecodeState(state, &v, p.siteElements()); err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	m := method.Memory{Factor: v.Factor, Proposed: v.Proposed, Spent: v.Spent, Solver: v.Solver, Parts: v.Parts}
	if err := errors.Join(
		phase.CheckState(v.Version, "protocol", v.Protocol, p.digest),
		phase.Within("last plan answered", v.Answered, 0, p.Plans()),
		phase.Within("outcomes", v.Sequence, 0, p.Plans()),
		phase.Within("open plan", v.Open, 0, v.Answered),
		s.client.Check(&m, v.Answered),
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
	if err := s.client.Restore(&m); err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	s.sequence, s.answered, s.open, s.centre = v.Sequence, v.Answered, v.Open, v.Centre
	if v.Sent != nil {
		s.sent = *v.Sent
	}
	return nil
}

func (v *siteState) checkOpen(p *Protocol) error {
	if v.Open == 0 {
		return phase.Within("elements of the centre", len(v.Centre), 0, 0)
	}
	return p.checkCentre(v.Centre)
}
