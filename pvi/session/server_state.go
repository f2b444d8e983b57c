package session

import (
	"errors"
	"fmt"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

type serverState struct {
	Study   study.Digest
	Planned int
	Closed  int
	Models  map[int][]byte
	kept
}

// MarshalBinary returns the server's state.
func (s *Server) MarshalBinary() ([]byte, error) {
	e, err := s.Encode()
	if err != nil {
		return nil, err
	}
	return e.Bytes()
}

// Encode encodes the server's state for [RestoreServer]. The size of the encoding does not grow
// with the number of rounds.
//
// The caller need not save the state after every release. It can be recovered from the state after
// the last entry and the releases since then, in any order.
func (s *Server) Encode() (pvi.Encoding, error) {
	v := serverState{Study: s.course.study.Digest, Planned: s.planned, Closed: s.closed, Models: map[int][]byte{}}
	for plan, model := range s.models {
		v.Models[plan] = model[:]
	}
	return s.encode(&v.kept, &v)
}

// RestoreServer returns the server of a study, in a state that MarshalBinary returned.
func RestoreServer(st *study.Study, roster []pvi.ClientID, state []byte) (*Server, error) {
	var parts sections
	if err := parts.unmarshal(state); err != nil {
		return nil, fmt.Errorf("restoring server: %w", err)
	}
	s, err := newServer(st, roster)
	if err != nil {
		return nil, err
	}
	if err := s.restore(&parts); err != nil {
		return nil, fmt.Errorf("restoring server: %w", err)
	}
	s.model = s.phase().model()
	return s, nil
}

func (s *Server) restore(parts *sections) error {
	var v serverState
	if err := parts.readOwn(&v, s.course.plans(), len(s.course.public.Roster())); err != nil {
		return err
	}
	if err := checkStudy(v.Study, s.course.study); err != nil {
		return err
	}
	if err := s.restorePhases(parts, s.begin, &v.kept); err != nil {
		return err
	}
	return s.restorePlans(&v)
}

func (s *Server) restorePlans(v *serverState) error {
	if v.Planned < 0 || v.Planned > s.course.plans() || v.Closed < 0 || v.Planned-v.Closed != len(v.Models) {
		return fmt.Errorf("%d plans made, %d ended and %d open do not go together", v.Planned, v.Closed, len(v.Models))
	}
	if v.Closed != s.outcomes() {
		return fmt.Errorf("%d plans ended, and the phases have %d outcomes", v.Closed, s.outcomes())
	}
	for plan, model := range v.Models {
		if place, _ := s.course.at(plan); plan < 1 || plan > v.Planned || len(model) != 32 || place >= len(s.phases) {
			return errors.New("an open plan is malformed")
		}
		s.models[plan] = [32]byte(model)
	}
	for plan := range s.models {
		if len(s.Waiting(plan)) == 0 {
			return fmt.Errorf("plan %d is open, and its phase waits for no answer to it", plan)
		}
	}
	s.planned, s.closed = v.Planned, v.Closed
	return nil
}
