package session

import (
	"errors"
	"fmt"
	"slices"

	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

// siteState is what a Site has to remember beside its machines.
type siteState struct {
	Study    study.Digest
	Client   pvi.ClientID
	Planned  int
	Open     []int
	Pending  *Entry  `json:",omitempty"`
	Queue    []Entry `json:",omitempty"`
	Verdicts tally
	Ending   []byte `json:",omitempty"`
}

// MarshalBinary returns the site's state. It holds what must not leave the house, the
// client's own factor, and no record.
func (s *Site) MarshalBinary() ([]byte, error) {
	v := siteState{
		Study: s.course.study.Digest, Client: s.id,
		Planned: s.planned, Open: s.open, Pending: s.pending, Queue: s.queue, Verdicts: s.verdicts,
	}
	if s.ending != nil {
		v.Ending = wire.AppendOneStepOutcome(nil, s.ending)
	}
	var parts sections
	err := errors.Join(
		parts.own(v),
		parts.put(scaleSection, s.scale, s.scale != nil),
		parts.put(roundsSection, s.rounds, s.rounds != nil),
		parts.put(lastSection, s.last, s.last != nil),
	)
	return parts.marshal(), err
}

// RestoreSite returns the site of a client whose state MarshalBinary returned, with the
// same records.
func RestoreSite(st *study.Study, roster []pvi.ClientID, id pvi.ClientID, records *shard.Records, state []byte) (*Site, error) {
	var parts sections
	var v siteState
	if err := parts.unmarshal(state); err != nil {
		return nil, fmt.Errorf("restoring client %s: %w", id, err)
	}
	s, err := NewSite(st, roster, id, records)
	if err != nil {
		return nil, err
	}
	err = parts.readOwn(&v, s.course.asks(), len(roster))
	if err == nil {
		err = checkStudy(v.Study, st)
	}
	if err == nil && v.Client != id {
		err = fmt.Errorf("the state is of client %q", v.Client)
	}
	if err == nil {
		err = s.restore(&parts, &v)
	}
	if err != nil {
		return nil, fmt.Errorf("restoring client %s: %w", id, err)
	}
	return s, nil
}

// restore takes up the machines, phase after phase: each leads to the next.
func (s *Site) restore(parts *sections, v *siteState) error {
	if err := parts.begun(scaleSection, s.scale != nil); err != nil {
		return err
	}
	if s.scale != nil {
		if err := s.scale.Restore(parts[scaleSection]); err != nil {
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
		if err := s.rounds.Restore(parts[roundsSection]); err != nil {
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

func (s *Site) restoreEnding(v *siteState) (err error) {
	if v.Ending == nil {
		return nil
	}
	if s.last == nil {
		return errNoLast
	}
	if s.ending, err = wire.ReadOneStepOutcome(v.Ending, s.course.limits); err != nil {
		return err
	}
	return s.last.Settle(s.ending)
}

// restoreAsks takes up which questions are open, and which of them is the client's.
func (s *Site) restoreAsks(v *siteState) error {
	if v.Planned < 0 || v.Planned > s.course.asks() || !increasing(v.Open, v.Planned) {
		return errors.New("the open questions are none of those asked, or not in order")
	}
	if ended := s.outcomes() + len(v.Queue); v.Planned-len(v.Open) != ended {
		return fmt.Errorf("%d questions asked, %d open and %d outcomes do not go together", v.Planned, len(v.Open), ended)
	}
	s.planned, s.open, s.verdicts = v.Planned, v.Open, v.Verdicts
	if err := s.restorePending(v.Pending); err != nil {
		return err
	}
	if len(v.Queue) > 0 && s.phase() != rounds {
		return errors.New("outcomes were kept in a phase of one question at a time")
	}
	for _, e := range v.Queue {
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
	in, number := s.course.at(e.Ask)
	if !slices.Contains(s.open, e.Ask) || e.Kind != kinds[in].plan || in != s.phase() {
		return errors.New("the question to be answered is not open")
	}
	if asked, err := s.checkPlan(in, number, e.Body); err != nil || !asked {
		return errors.Join(errors.New("the question to be answered is none for this client"), err)
	}
	s.pending = e
	return nil
}

// outcomes returns the number of outcomes that were followed, of all phases.
func (s *Site) outcomes() int {
	n := 0
	if s.scale != nil {
		n += s.scale.Followed()
	}
	if s.rounds != nil {
		n += s.rounds.Followed()
	}
	if s.ending != nil {
		n++
	}
	return n
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
