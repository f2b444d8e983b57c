package stage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

// stateVersion is the version of the encoding of both sides' states.
const stateVersion = 1

// serverState is what a Server has to remember.
type serverState struct {
	Version  int
	Study    string
	Scale    json.RawMessage `json:",omitempty"`
	Rounds   json.RawMessage `json:",omitempty"`
	Last     json.RawMessage `json:",omitempty"`
	Planned  int
	Closed   int
	Models   map[int][]byte
	Verdicts tally
	Ending   []byte `json:",omitempty"`
}

// MarshalBinary returns the server's state.
func (s *Server) MarshalBinary() ([]byte, error) {
	v := serverState{
		Version: stateVersion, Study: s.course.study.Digest.String(),
		Planned: s.planned, Closed: s.closed, Models: map[int][]byte{}, Verdicts: s.verdicts,
	}
	for ask, model := range s.models {
		v.Models[ask] = model[:]
	}
	if s.ending != nil {
		v.Ending = wire.AppendOneStepOutcome(nil, s.ending)
	}
	var err error
	if s.scale != nil {
		v.Scale, err = s.scale.MarshalBinary()
	}
	if s.rounds != nil && err == nil {
		v.Rounds, err = s.rounds.MarshalBinary()
	}
	if s.last != nil && err == nil {
		v.Last, err = s.last.MarshalBinary()
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// RestoreServer returns the server of a study whose state MarshalBinary returned.
func RestoreServer(st *study.Study, roster []pvi.ClientID, state []byte) (*Server, error) {
	var v serverState
	if err := decode(state, &v); err != nil {
		return nil, fmt.Errorf("restoring server: %w", err)
	}
	if err := checkState(v.Version, v.Study, st); err != nil {
		return nil, fmt.Errorf("restoring server: %w", err)
	}
	s, err := NewServer(st, roster)
	if err != nil {
		return nil, err
	}
	if err := s.restore(&v); err != nil {
		return nil, fmt.Errorf("restoring server: %w", err)
	}
	return s, nil
}

func (s *Server) restore(v *serverState) (err error) {
	if (v.Scale != nil) != (s.scale != nil) {
		return errors.New("the state is of a study that finds the scale of its columns another way")
	}
	if s.scale != nil {
		if s.scale, err = pvi.RestoreScaleServer(s.course.scaling, v.Scale); err != nil {
			return err
		}
		if err := s.advance(); err != nil {
			return err
		}
	}
	if (v.Rounds != nil) != (s.rounds != nil) {
		return errors.New("the rounds were begun before the scale was found, or not after it")
	}
	if s.rounds != nil {
		if s.rounds, err = pvi.RestoreServer(s.course.protocol, v.Rounds); err != nil {
			return err
		}
		if err := s.advance(); err != nil {
			return err
		}
	}
	if (v.Last != nil) != (s.last != nil) {
		return errors.New("the last round was begun before the end of all others, or not after it")
	}
	if s.last != nil {
		if err := s.last.Restore(v.Last); err != nil {
			return err
		}
	}
	if v.Ending != nil {
		if s.ending, err = wire.ReadOneStepOutcome(v.Ending, s.course.limits); err != nil {
			return err
		}
	}
	return s.restoreAsks(v)
}

// restoreAsks takes up which questions are open.
func (s *Server) restoreAsks(v *serverState) error {
	if v.Planned < 0 || v.Planned > s.course.asks() || v.Closed < 0 || v.Planned-v.Closed != len(v.Models) {
		return fmt.Errorf("%d questions asked, %d ended and %d open do not go together", v.Planned, v.Closed, len(v.Models))
	}
	for ask, model := range v.Models {
		if ask < 1 || ask > v.Planned || len(model) != 32 {
			return errors.New("an open question is malformed")
		}
		s.models[ask] = [32]byte(model)
	}
	s.planned, s.closed, s.verdicts = v.Planned, v.Closed, v.Verdicts
	return nil
}

// siteState is what a Site has to remember.
type siteState struct {
	Version  int
	Study    string
	Client   pvi.ClientID
	Scale    json.RawMessage `json:",omitempty"`
	Rounds   json.RawMessage `json:",omitempty"`
	Last     json.RawMessage `json:",omitempty"`
	Planned  int
	Open     []int
	Pending  *Entry  `json:",omitempty"`
	Queue    []Entry `json:",omitempty"`
	Verdicts tally
	Ending   []byte `json:",omitempty"`
}

// MarshalBinary returns the site's state. It holds what must not leave the house, but no
// record.
func (s *Site) MarshalBinary() ([]byte, error) {
	v := siteState{
		Version: stateVersion, Study: s.course.study.Digest.String(), Client: s.id,
		Planned: s.planned, Open: s.open, Pending: s.pending, Queue: s.queue, Verdicts: s.verdicts,
	}
	if s.ending != nil {
		v.Ending = wire.AppendOneStepOutcome(nil, s.ending)
	}
	var err error
	if s.scale != nil {
		v.Scale, err = s.scale.MarshalBinary()
	}
	if s.rounds != nil && err == nil {
		v.Rounds, err = s.rounds.MarshalBinary()
	}
	if s.last != nil && err == nil {
		v.Last, err = s.last.MarshalBinary()
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// RestoreSite returns the site of a client whose state MarshalBinary returned, with the
// same records.
func RestoreSite(st *study.Study, roster []pvi.ClientID, id pvi.ClientID, records *shard.Records, state []byte) (*Site, error) {
	var v siteState
	if err := decode(state, &v); err != nil {
		return nil, fmt.Errorf("restoring client %s: %w", id, err)
	}
	err := checkState(v.Version, v.Study, st)
	if v.Client != id {
		err = errors.Join(err, fmt.Errorf("the state is of client %q", v.Client))
	}
	if err != nil {
		return nil, fmt.Errorf("restoring client %s: %w", id, err)
	}
	s, err := NewSite(st, roster, id, records)
	if err != nil {
		return nil, err
	}
	if err := s.restore(&v); err != nil {
		return nil, fmt.Errorf("restoring client %s: %w", id, err)
	}
	return s, nil
}

func (s *Site) restore(v *siteState) (err error) {
	if (v.Scale != nil) != (s.scale != nil) {
		return errors.New("the state is of a study that finds the scale of its columns another way")
	}
	if s.scale != nil {
		if err := s.scale.Restore(v.Scale); err != nil {
			return err
		}
		if err := s.advance(); err != nil {
			return err
		}
	}
	if (v.Rounds != nil) != (s.rounds != nil) {
		return errors.New("the rounds were begun before the scale was found, or not after it")
	}
	if s.rounds != nil {
		if err := s.rounds.Restore(v.Rounds); err != nil {
			return err
		}
		if err := s.advance(); err != nil {
			return err
		}
	}
	if (v.Last != nil) != (s.last != nil) {
		return errors.New("the last round was begun before the end of all others, or not after it")
	}
	if s.last != nil {
		if err := s.last.Restore(v.Last); err != nil {
			return err
		}
	}
	if v.Ending != nil {
		if s.ending, err = wire.ReadOneStepOutcome(v.Ending, s.course.limits); err != nil {
			return err
		}
	}
	return s.restoreAsks(v)
}

// restoreAsks takes up which questions are open, and which of them is the client's.
func (s *Site) restoreAsks(v *siteState) error {
	if v.Planned < 0 || v.Planned > s.course.asks() || !increasing(v.Open, v.Planned) {
		return errors.New("the open questions are none of those asked, or not in order")
	}
	s.planned, s.open, s.queue, s.verdicts = v.Planned, v.Open, v.Queue, v.Verdicts
	if v.Pending == nil {
		return nil
	}
	in, number := s.course.at(v.Pending.Ask)
	if !slices.Contains(v.Open, v.Pending.Ask) || v.Pending.Kind != kinds[in].plan || in != s.phase() {
		return errors.New("the question to be answered is not open")
	}
	if asked, err := s.checkPlan(in, number, v.Pending.Body); err != nil || !asked {
		return errors.Join(errors.New("the question to be answered is not one for this client"), err)
	}
	s.pending = v.Pending
	return nil
}

// increasing reports whether v is in order, each once, from 1 to most.
func increasing(v []int, most int) bool {
	before := 0
	for _, n := range v {
		if n <= before || n > most {
			return false
		}
		before = n
	}
	return true
}

func checkState(version int, digest string, st *study.Study) error {
	if version != stateVersion {
		return fmt.Errorf("the state has version %d, this program reads version %d", version, stateVersion)
	}
	if want := st.Digest.String(); digest != want {
		return fmt.Errorf("the state is of study %.16s, this is %.16s", digest, want)
	}
	return nil
}

func decode(state []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(state))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the state cannot be read: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the state cannot be read: something follows it")
	}
	return nil
}
