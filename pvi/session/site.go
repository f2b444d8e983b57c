package session

import (
	"fmt"
	"slices"

	"fedpvi/pvi"
	"fedpvi/pvi/lastround"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Site follows a study for one client and answers what the client is asked. Follow must
// be called with every entry, in order.
//
// A site that is asked waits: what becomes of other clients' answers meanwhile is kept,
// and taken up when it has answered, or when the question ended without it. So an answer
// is always that to the plan, and a client that was away follows everything that was said
// before it looks whether it is still asked.
//
// It is not safe for concurrent use.
type Site struct {
	course  *course
	id      pvi.ClientID
	records *shard.Records

	scale  *scale.Site  // nil if the scale is public
	rounds *pvi.Site    // nil until the scale is found
	shard  *shard.Shard // the records on the scale
	last   *lastround.Site

	device *solver.Accelerator // nil for the processor

	planned  int     // asks with a plan
	open     []int   // of them, those that have no outcome yet, in order
	pending  *Entry  // the plan that has no answer of this client yet
	queue    []Entry // outcomes to be followed once pending is out of the way
	verdicts tally   // of the rounds
	ending   *lastround.Outcome
}

// NewSite returns the site of a client before the first question. The records must stay
// the same for the whole study. They must be such that the client could take part in
// every phase. A study that does something as published is refused.
func NewSite(st *study.Study, roster []pvi.ClientID, id pvi.ClientID, records *shard.Records) (*Site, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	s := &Site{course: c, id: id, records: records}
	if c.scaling == nil {
		return s, s.advance()
	}
	if s.scale, err = scale.NewSite(c.scaling, id, records); err != nil {
		return nil, err
	}
	// What is wrong with the records for a later phase must not show after a charge.
	_, err = c.public.NewSite(id, shard.Design(c.public.Study(), records))
	return s, err
}

// advance begins the phases whose time has come.
func (s *Site) advance() error {
	c := s.course
	if c.protocol == nil && s.passed() == c.passes() {
		scaled, err := s.scale.Scaled()
		if err != nil {
			return err
		}
		if err := c.found(scaled); err != nil {
			return err
		}
	}
	if c.protocol != nil && s.rounds == nil {
		s.shard = shard.Design(c.protocol.Study(), s.records)
		var err error
		if s.rounds, err = c.protocol.NewSite(s.id, s.shard); err != nil {
			return err
		}
		if s.device != nil {
			if err := s.rounds.OnDevice(s.shard, *s.device); err != nil {
				return err
			}
		}
	}
	if s.last == nil && s.rounds != nil && s.rounds.Done() && len(c.protocol.After()) > 0 {
		var err error
		s.last, err = s.rounds.LastRound(s.shard)
		return err
	}
	return nil
}

// ForDevice returns why no device takes the study's private gradient steps, nil if one
// can.
func (s *Site) ForDevice() error { return s.course.public.OnDevice() }

// OnDevice has a device take the site's private gradient steps, now and when the rounds
// begin ([pvi.Protocol.OnDevice]).
func (s *Site) OnDevice(a solver.Accelerator) error {
	err := s.course.public.OnDevice()
	if err == nil && s.rounds != nil {
		err = s.rounds.OnDevice(s.shard, a)
	}
	if err == nil {
		s.device = &a
	}
	return err
}

// passed returns the number of passes whose outcome was followed.
func (s *Site) passed() int { return s.scale.Followed() }

// phase returns the phase that the site is in.
func (s *Site) phase() phase {
	switch {
	case s.rounds == nil:
		return scaling
	case s.last == nil:
		return rounds
	}
	return last
}

// ID returns the client's name.
func (s *Site) ID() pvi.ClientID { return s.id }

// Pending returns the question that this client is asked and has not answered, and that
// has no outcome. False if there is none.
func (s *Site) Pending() (ask int, ok bool) {
	if s.pending == nil {
		return 0, false
	}
	return s.pending.Ask, true
}

// Asks returns how many questions were asked so far, of whomever, and how many the study
// has.
func (s *Site) Asks() (soFar, all int) { return s.planned, s.course.asks() }

// Done reports whether every question of the study has an outcome, and was followed.
func (s *Site) Done() bool {
	return s.planned == s.course.asks() && len(s.open) == 0 && len(s.queue) == 0
}

// Digest returns the identity of what is played: of the finding of the scale, and then
// of the protocol on the scale that was found.
func (s *Site) Digest() [32]byte { return s.course.digest() }

// Releases returns how often the client has released something that is charged.
func (s *Site) Releases() int {
	n := 0
	if s.scale != nil {
		n += s.scale.Passes()
	}
	if s.rounds != nil {
		n += s.rounds.Releases()
	}
	if s.last != nil && s.last.Releases() > 0 {
		n++
	}
	return n
}

// Result returns what came out, as this client computed it for itself. Every question
// must have an outcome.
func (s *Site) Result() (*Result, error) {
	if !s.Done() {
		return nil, errNotDone
	}
	var columns []scale.Column
	if s.scale != nil {
		columns = s.scale.Columns()
	}
	return s.course.result(s.rounds.Posterior(), s.verdicts, columns, s.ending)
}

// Beyond returns by column how many values of the client's records lie beyond the scale
// that was found, and so count as at its ends; nil before it is found. It is for the data
// holder's eyes.
func (s *Site) Beyond() map[string]int {
	if s.scale == nil || s.rounds == nil {
		return nil
	}
	counts := map[string]int{}
	shard.Beyond(counts, s.course.protocol.Study(), s.records)
	return counts
}

// isOpen returns where a question stands among the open ones.
func (s *Site) isOpen(ask int) (at int, ok bool) { return slices.BinarySearch(s.open, ask) }

// named says whose error it is.
func (s *Site) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("client %s: %w", s.id, err)
}
