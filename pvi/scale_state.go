package pvi

import (
	"encoding/json"
	"errors"
	"fmt"
)

// scaleServerState is what a ScaleServer has to remember.
type scaleServerState struct {
	Version int
	Scaling Digest
	Columns []ColumnScale
	Passes  int
	Open    *scaleRound
}

// MarshalBinary returns the server's state.
func (s *ScaleServer) MarshalBinary() ([]byte, error) {
	return json.Marshal(scaleServerState{stateVersion, s.scaling.digest, s.scale.columns, s.scale.passes, s.open})
}

// RestoreScaleServer returns the server whose state MarshalBinary returned.
func RestoreScaleServer(c *Scaling, state []byte) (*ScaleServer, error) {
	var v scaleServerState
	if err := decodeState(state, &v, c.elements()); err != nil {
		return nil, fmt.Errorf("restoring scale server: %w", err)
	}
	s := NewScaleServer(c)
	err := errors.Join(
		checkState(v.Version, "scaling", v.Scaling, c.digest),
		within("passes", v.Passes, 0, c.Passes()),
		s.scale.restore(v.Passes, v.Columns),
	)
	if v.Open != nil {
		err = errors.Join(err, v.checkOpen(c))
	}
	if err != nil {
		return nil, fmt.Errorf("restoring scale server: %w", err)
	}
	s.open = v.Open
	return s, nil
}

func (v *scaleServerState) checkOpen(c *Scaling) error {
	if v.Passes >= c.Passes() {
		return errors.New("a pass is open and all have an outcome")
	}
	if !inOrder(v.Open.Answered, c.roster) {
		return errors.New("the open pass counts clients that are not in the roster, or not in order")
	}
	return c.step(v.Passes+1).checkSum(v.Open.Sum, len(v.Open.Answered))
}

// scaleSiteState is what a ScaleSite has to remember.
type scaleSiteState struct {
	Version  int
	Scaling  Digest
	Client   ClientID
	Columns  []ColumnScale
	Passes   int
	Answered int
}

// MarshalBinary returns the site's state.
func (s *ScaleSite) MarshalBinary() ([]byte, error) {
	return json.Marshal(scaleSiteState{stateVersion, s.scaling.digest, s.id, s.scale.columns, s.scale.passes, s.answered})
}

// Restore sets a new site to a state that MarshalBinary returned.
func (s *ScaleSite) Restore(state []byte) error {
	var v scaleSiteState
	if err := decodeState(state, &v, s.scaling.elements()); err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	err := errors.Join(
		checkState(v.Version, "scaling", v.Scaling, s.scaling.digest),
		within("passes", v.Passes, 0, s.scaling.Passes()),
		within("last pass answered", v.Answered, 0, min(v.Passes+1, s.scaling.Passes())),
	)
	if v.Client != s.id {
		err = errors.Join(err, fmt.Errorf("the state is of client %q", v.Client))
	}
	if err == nil {
		err = s.scale.restore(v.Passes, v.Columns)
	}
	if err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	s.answered = v.Answered
	return nil
}
