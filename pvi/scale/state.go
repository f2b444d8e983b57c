package scale

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"fedpvi/pvi/phase"
)

type serverState struct {
	Version int
	Scaling phase.Digest
	Columns []Column
	Passes  int
	Open    *pass
}

// MarshalBinary returns the server's state.
func (s *Server) MarshalBinary() ([]byte, error) {
	return json.Marshal(serverState{phase.StateVersion, s.scaling.digest, s.scale.columns, s.scale.passes, s.open})
}

// RestoreServer returns a server with a state that MarshalBinary returned.
func RestoreServer(c *Scaling, state []byte) (*Server, error) {
	var v serverState
	if err := phase.DecodeState(state, &v, c.elements()); err != nil {
		return nil, fmt.Errorf("restoring scale server: %w", err)
	}
	s := NewServer(c)
	err := errors.Join(
		phase.CheckState(v.Version, "scaling", v.Scaling, c.digest),
		phase.Within("passes", v.Passes, 0, c.Passes()),
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

func (v *serverState) checkOpen(c *Scaling) error {
	if v.Passes >= c.Passes() {
		return errors.New("a pass is open and all have an outcome")
	}
	if !c.roster.Selects(v.Open.Answered) {
		return errors.New("the open pass counts clients that are not in the roster, or not in order")
	}
	if want := c.ReleasesSize(v.Passes+1) / len(c.roster.Clients) * len(v.Open.Answered); len(v.Open.Releases) != want {
		return fmt.Errorf("the open pass has %d elements of releases, want %d", len(v.Open.Releases), want)
	}
	return c.step(v.Passes+1).checkSum(v.Open.Sum, len(v.Open.Answered))
}

type siteState struct {
	Version  int
	Scaling  phase.Digest
	Client   phase.ClientID
	Columns  []Column
	Passes   int
	Answered int
	Sent     *phase.Digest `json:",omitempty"` // hash of the last release, if published
}

// MarshalBinary returns the site's state.
func (s *Site) MarshalBinary() ([]byte, error) {
	v := siteState{phase.StateVersion, s.scaling.digest, s.id, s.scale.columns, s.scale.passes, s.answered, nil}
	if s.sent != (phase.Digest{}) {
		v.Sent = &s.sent
	}
	return json.Marshal(v)
}

// Restore sets a new site to a state that MarshalBinary returned.
func (s *Site) Restore(state []byte) error {
	var v siteState
	if err := phase.DecodeState(state, &v, s.scaling.elements()); err != nil {
		return fmt.Errorf("restoring client %s: %w", s.id, err)
	}
	err := errors.Join(
		phase.CheckState(v.Version, "scaling", v.Scaling, s.scaling.digest),
		phase.Within("passes", v.Passes, 0, s.scaling.Passes()),
		phase.Within("last pass answered", v.Answered, 0, min(v.Passes+1, s.scaling.Passes())),
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
	if s.answered = v.Answered; v.Sent != nil {
		s.sent = *v.Sent
	}
	return nil
}

func (c *Scaling) elements() int {
	const columnFields = 32
	n := phase.StateFields + 2*phase.NamesElements(c.roster.Clients)
	for _, column := range newScale(c).columns {
		n += columnFields + strings.Count(column.Column, ",")
	}
	largest := 0
	for pass := range c.Passes() {
		largest = max(largest, c.Size(pass+1)+c.ReleasesSize(pass+1))
	}
	return n + largest
}
