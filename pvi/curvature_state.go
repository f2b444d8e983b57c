package pvi

import (
	"encoding/json"
	"errors"
	"fmt"
)

// curvatureServerState is what a CurvatureServer has to remember.
type curvatureServerState struct {
	Version   int
	Round     Digest
	Planned   bool
	Open      bool
	Answered  []ClientID
	Gradient  []int64
	Curvature []int64
}

// MarshalBinary returns the server's state.
func (s *CurvatureServer) MarshalBinary() ([]byte, error) {
	return json.Marshal(curvatureServerState{stateVersion, s.digest, s.planned, s.open, s.answered, s.gradient, s.bend})
}

// Restore sets a new server to a state that MarshalBinary returned.
func (s *CurvatureServer) Restore(state []byte) error {
	var v curvatureServerState
	if err := decodeState(state, &v); err != nil {
		return fmt.Errorf("restoring the server of the last round: %w", err)
	}
	err := errors.Join(checkCurvatureState(v.Version, v.Round, s.digest), s.protocol.checkCurvature(v.Gradient, v.Curvature, len(v.Answered)))
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
	s.planned, s.open, s.answered, s.gradient, s.bend = v.Planned, v.Open, v.Answered, v.Gradient, v.Curvature
	return nil
}

func checkCurvatureState(version int, round, want Digest) error {
	if version != stateVersion {
		return fmt.Errorf("the state has version %d, this program reads version %d", version, stateVersion)
	}
	if round != want {
		return fmt.Errorf("the state is of last round %.16s, this is %.16s: another study, or other rounds before it", round, want)
	}
	return nil
}

// curvatureSiteState is what a CurvatureSite has to remember.
type curvatureSiteState struct {
	Version  int
	Round    Digest
	Client   ClientID
	Answered bool
}

// MarshalBinary returns the site's state.
func (s *CurvatureSite) MarshalBinary() ([]byte, error) {
	return json.Marshal(curvatureSiteState{stateVersion, s.digest, s.id, s.answered})
}

// Restore sets a new site to a state that MarshalBinary returned.
func (s *CurvatureSite) Restore(state []byte) error {
	var v curvatureSiteState
	if err := decodeState(state, &v); err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	err := checkCurvatureState(v.Version, v.Round, s.digest)
	if v.Client != s.id {
		err = errors.Join(err, fmt.Errorf("the state is of client %q", v.Client))
	}
	if err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	s.answered = v.Answered
	return nil
}
