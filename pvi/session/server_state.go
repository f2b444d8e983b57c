package session

import (
	"errors"
	"fmt"

	"fedpvi/pvi"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

// serverState is what a Server has to remember beside its machines.
type serverState struct {
	Study    study.Digest
	Planned  int
	Closed   int
	Models   map[int][]byte
	Verdicts tally
	Ending   []byte `json:",omitempty"`
}

// MarshalBinary returns the server's state. It grows with the number of coefficients and
// of clients, not with that of rounds.
//
// It need not be saved for every release. One that was saved with the last entry leads to
// the present one by the releases that came since, collected again in any order.
func (s *Server) MarshalBinary() ([]byte, error) {
	v := serverState{Study: s.course.study.Digest, Planned: s.planned, Closed: s.closed, Models: map[int][]byte{}, Verdicts: s.verdicts}
	for ask, model := range s.models {
		v.Models[ask] = model[:]
	}
	if s.ending != nil {
		v.Ending = wire.AppendOneStepOutcome(nil, s.ending)
	}
	var parts sections
	err := errors.Join(
		parts.own(v),
		parts.put(scaleSection, s.scale, s.scale != nil),
		parts.put(lastSection, s.last, s.last != nil),
	)
	if err != nil {
		return nil, err
	}
	return parts.append([]byte{stateVersion}, s.rounds)
}

// RestoreServer returns the server of a study whose state MarshalBinary returned.
func RestoreServer(st *study.Study, roster []pvi.ClientID, state []byte) (*Server, error) {
	var parts sections
	var v serverState
	if err := parts.unmarshal(state); err != nil {
		return nil, fmt.Errorf("restoring server: %w", err)
	}
	s, err := newServer(st, roster)
	if err != nil {
		return nil, err
	}
	err = parts.readOwn(&v, s.course.asks(), len(roster))
	if err == nil {
		err = checkStudy(v.Study, st)
	}
	if err == nil {
		err = s.restore(&parts, &v)
	}
	if err != nil {
		return nil, fmt.Errorf("restoring server: %w", err)
	}
	s.stand()
	return s, nil
}

// restore takes up the machines, phase after phase: each leads to the next.
func (s *Server) restore(parts *sections, v *serverState) (err error) {
	if err := parts.begun(scaleSection, s.scale != nil); err != nil {
		return err
	}
	if s.scale != nil {
		if s.scale, err = scale.RestoreServer(s.course.scaling, parts[scaleSection]); err != nil {
			return err
		}
	}
	if err := s.advance(); err != nil {
		return err
	}
	if err := parts.begun(roundsSection, s.rounds != nil); err != nil {
		return err
	}
	if s.rounds != nil {
		if s.rounds, err = pvi.RestoreServer(s.course.protocol, parts[roundsSection]); err != nil {
			return err
		}
	}
	if err := s.advance(); err != nil {
		return err
	}
	if err := parts.begun(lastSection, s.last != nil); err != nil {
		return err
	}
	if s.last != nil {
		if err := s.last.Restore(parts[lastSection]); err != nil {
			return err
		}
	}
	if err := s.restoreEnding(v); err != nil {
		return err
	}
	return s.restoreAsks(v)
}

func (s *Server) restoreEnding(v *serverState) (err error) {
	if v.Ending == nil {
		return nil
	}
	if s.last == nil {
		return errNoLast
	}
	s.ending, err = wire.ReadOneStepOutcome(v.Ending, s.course.limits)
	return err
}

// restoreAsks takes up which questions are open.
func (s *Server) restoreAsks(v *serverState) error {
	if v.Planned < 0 || v.Planned > s.course.asks() || v.Closed < 0 || v.Planned-v.Closed != len(v.Models) {
		return fmt.Errorf("%d questions asked, %d ended and %d open do not go together", v.Planned, v.Closed, len(v.Models))
	}
	if v.Closed != s.outcomes() || (s.ending != nil) != (s.last != nil && v.Closed == s.course.asks()) {
		return fmt.Errorf("%d questions ended, and the phases have %d outcomes", v.Closed, s.outcomes())
	}
	for ask, model := range v.Models {
		if ask < 1 || ask > v.Planned || len(model) != 32 {
			return errors.New("an open question is malformed")
		}
		s.models[ask] = [32]byte(model)
	}
	for ask := range s.models {
		if len(s.Waiting(ask)) == 0 {
			return fmt.Errorf("question %d is open, and its phase knows nothing of it", ask)
		}
	}
	s.planned, s.closed, s.verdicts = v.Planned, v.Closed, v.Verdicts
	return nil
}

// outcomes returns the number of outcomes of all phases.
func (s *Server) outcomes() int {
	n := 0
	if s.scale != nil {
		n += s.scale.Outcomes()
	}
	if s.rounds != nil {
		n += s.rounds.Outcomes()
	}
	if s.ending != nil {
		n++
	}
	return n
}
