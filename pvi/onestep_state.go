package pvi

import (
	"encoding/json"
	"errors"
	"fmt"
)

// oneStepServerState is what a OneStepServer has to remember.
type oneStepServerState struct {
	Version   int
	Round     Digest
	Planned   bool
	Open      bool
	Answered  []ClientID
	Gradient  []int64
	Curvature []int64
}

// MarshalBinary returns the server's state.
func (s *OneStepServer) MarshalBinary() ([]byte, error) {
	return json.Marshal(oneStepServerState{stateVersion, s.digest, s.planned, s.open, s.answered, s.gradient, s.curvature})
}

// Restore sets a new server to a state that MarshalBinary returned.
func (s *OneStepServer) Restore(state []byte) error {
	var v oneStepServerState
	if err := decodeState(state, &v, s.protocol.OneStep().elements(s.protocol.roster)); err != nil {
		return fmt.Errorf("restoring the server of the last round: %w", err)
	}
	err := errors.Join(checkState(v.Version, "last round", v.Round, s.digest), s.protocol.checkOneStep(v.Gradient, v.Curvature, len(v.Answered)))
	switch {
	case v.Open && !v.Planned:
		err = errors.Join(err, errors.New("the round is open and was not planned"))
	case !v.Planned && len(v.Answered) > 0:
		err = errors.Join(err, errors.New("the round was not planned and has answers"))
	case !inOrder(v.Answered, s.protocol.roster):
		err = errors.Join(err, errors.New("the round counts clients that are not in the roster, or not in order"))
	}
	if err != nil {
		return fmt.Errorf("restoring the server of the last round: %w", err)
	}
	s.planned, s.open, s.answered, s.gradient, s.curvature = v.Planned, v.Open, v.Answered, v.Gradient, v.Curvature
	return nil
}

// oneStepSiteState is what a OneStepSite has to remember.
type oneStepSiteState struct {
	Version  int
	Round    Digest
	Client   ClientID
	Answered bool
}

// MarshalBinary returns the site's state.
func (s *OneStepSite) MarshalBinary() ([]byte, error) {
	return json.Marshal(oneStepSiteState{stateVersion, s.digest, s.id, s.answered})
}

// Restore sets a new site to a state that MarshalBinary returned.
func (s *OneStepSite) Restore(state []byte) error {
	var v oneStepSiteState
	if err := decodeState(state, &v, s.protocol.OneStep().elements(s.protocol.roster)); err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	err := checkState(v.Version, "last round", v.Round, s.digest)
	if v.Client != s.id {
		err = errors.Join(err, fmt.Errorf("the state is of client %q", v.Client))
	}
	if err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	s.answered = v.Answered
	return nil
}
