package session

import (
	"errors"
	"fmt"
	"slices"

	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

type siteState struct {
	Study   study.Digest
	Client  pvi.ClientID
	Planned int
	Open    []int
	Pending *Entry  `json:",omitempty"`
	Queue   []Entry `json:",omitempty"`
	kept
}

// MarshalBinary encodes the site's state for [RestoreSite]. The state does not contain records, but
// it contains the client's own factor, and must therefore not leave the client.
func (s *Site) MarshalBinary() ([]byte, error) {
	v := siteState{
		Study: s.course.study.Digest, Client: s.id,
		Planned: s.planned, Open: s.open, Pending: s.pending, Queue: s.queue,
	}
	e, err := s.encode(&v.kept, &v)
	if err != nil {
		return nil, err
	}
	return e.Bytes()
}

// RestoreSite returns a client's site in a saved state. The records must be those that the site had
// then.
func RestoreSite(st *study.Study, roster []pvi.ClientID, id pvi.ClientID, records *shard.Records, state []byte) (*Site, error) {
	var parts sections
	if err := parts.unmarshal(state); err != nil {
		return nil, fmt.Errorf("restoring client %s: %w", id, err)
	}
	s, err := NewSite(st, roster, id, records)
	if err != nil {
		return nil, err
	}
	if err := s.restore(&parts); err != nil {
		return nil, fmt.Errorf("restoring client %s: %w", id, err)
	}
	return s, nil
}

func (s *Site) restore(parts *sections) error {
	var v siteState
	if err := parts.readOwn(&v, s.course.plans(), len(s.course.public.Roster())); err != nil {
		return err
	}
	if err := checkStudy(v.Study, s.course.study); err != nil {
		return err
	}
	if v.Client != s.id {
		return fmt.Errorf("the state is of client %q", v.Client)
	}
	if err := s.restorePhases(parts, s.begin, &v.kept); err != nil {
		return err
	}
	return s.restorePlans(&v)
}

func (s *Site) restorePlans(v *siteState) error {
	if v.Planned < 0 || v.Planned > s.course.plans() || !increasing(v.Open, v.Planned) {
		return errors.New("the open plans are not among those made, or not in order")
	}
	if ended := s.outcomes() + len(v.Queue); v.Planned-len(v.Open) != ended {
		return fmt.Errorf("%d plans made, %d open and %d outcomes do not go together", v.Planned, len(v.Open), ended)
	}
	s.planned, s.open = v.Planned, v.Open
	if err := s.restorePending(v.Pending); err != nil {
		return err
	}
	for _, e := range v.Queue {
		if place, _ := s.course.at(e.Plan); place != len(s.phases)-1 {
			return errors.New("an outcome was kept that is not of the present phase")
		}
		if err := s.checkQueued(e); err != nil {
			return fmt.Errorf("an outcome that was kept: %w", err)
		}
		s.queue = append(s.queue, e)
	}
	return nil
}

func (s *Site) restorePending(e *Entry) error {
	if e == nil {
		return nil
	}
	place, number := s.course.at(e.Plan)
	if kind, _ := s.course.phases[place].kinds(); !slices.Contains(s.open, e.Plan) || e.Kind != kind || place != len(s.phases)-1 {
		return errors.New("the plan to be answered is not open")
	}
	if named, err := s.phases[place].check(number, e.Body); err != nil || !named {
		return errors.Join(errors.New("the plan to be answered does not name this client"), err)
	}
	s.pending = e
	return nil
}

// increasing reports whether v is strictly increasing, with all elements between 1 and most.
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
