package lastround

import (
	"encoding/json"
	"errors"
	"fmt"

	"fedpvi/pvi/phase"
)

type serverState struct {
	Version   int
	Round     phase.Digest
	Planned   bool
	Open      bool
	Answered  []phase.ClientID
	Gradient  []int64
	Curvature []int64
	Releases  []int64 `json:",omitempty"`
}

// MarshalBinary returns the server's state.
func (s *Server) MarshalBinary() ([]byte, error) {
	return json.Marshal(serverState{phase.StateVersion, s.digest, s.planned, s.open, s.answered, s.gradient, s.curvature, s.releases})
}

// Restore sets a new server to a state that MarshalBinary returned.
func (s *Server) Restore(state []byte) error {
	var v serverState
	if err := phase.DecodeState(state, &v, s.round.elements()); err != nil {
		return fmt.Errorf("restoring the server of the last round: %w", err)
	}
	err := errors.Join(phase.CheckState(v.Version, "last round", v.Round, s.digest), s.round.check(v.Gradient, v.Curvature, len(v.Answered)))
	switch {
	case v.Open && !v.Planned:
		err = errors.Join(err, errors.New("the round is open and was not planned"))
	case !v.Planned && len(v.Answered) > 0:
		err = errors.Join(err, errors.New("the round was not planned and has answers"))
	case len(v.Releases) != s.round.ReleasesSize()/len(s.round.roster.Clients)*len(v.Answered):
		err = errors.Join(err, errors.New("the round has no release for each answer"))
	case !s.round.roster.Selects(v.Answered):
		err = errors.Join(err, errors.New("the round counts clients that are not in the roster, or not in order"))
	}
	if err != nil {
		return fmt.Errorf("restoring the server of the last round: %w", err)
	}
	s.planned, s.open, s.answered, s.gradient, s.curvature, s.releases = v.Planned, v.Open, v.Answered, v.Gradient, v.Curvature, v.Releases
	return nil
}

type siteState struct {
	Version  int
	Round    phase.Digest
	Client   phase.ClientID
	Answered bool
	Sent     *phase.Digest `json:",omitempty"` // hash of the release, if published
}

// MarshalBinary returns the site's state.
func (s *Site) MarshalBinary() ([]byte, error) {
	v := siteState{phase.StateVersion, s.digest, s.id, s.answered, nil}
	if s.sent != (phase.Digest{}) {
		v.Sent = &s.sent
	}
	return json.Marshal(v)
}

// Restore sets a new site to a state that MarshalBinary returned.
func (s *Site) Restore(state []byte) error {
	var v siteState
	if err := phase.DecodeState(state, &v, s.round.elements()); err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	err := phase.CheckState(v.Version, "last round", v.Round, s.digest)
	if v.Client != s.id {
		err = errors.Join(err, fmt.Errorf("the state is of client %q", v.Client))
	}
	if err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	if s.answered = v.Answered; v.Sent != nil {
		s.sent = *v.Sent
	}
	return nil
}

func (r *Round) elements() int {
	return phase.StateFields + 2*phase.NamesElements(r.roster.Clients) + r.Size() + r.ReleasesSize()
}
