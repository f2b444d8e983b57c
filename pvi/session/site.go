package session

import (
	"fmt"
	"slices"

	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Site follows a study for one client and answers the plans that name the client.
// Follow must be called with every entry, in order.
//
// While a site has a plan to answer, it keeps the outcomes of other plans, and follows them
// when it has answered or when the plan has ended without it. So an answer is always computed
// from the state in which its plan was made. A client that was away follows all entries before
// it checks whether it still has a plan to answer.
//
// It is not safe for concurrent use.
type Site struct {
	course  *course
	id      pvi.ClientID
	records *shard.Records

	phases []sitePhase  // that have begun, in order
	rounds *pvi.Site    // nil until the rounds begin
	shard  *shard.Shard // the records on the scale; nil until then

	device *solver.Accelerator // nil for the processor

	planned int     // plans that were announced
	open    []int   // those of them that have no outcome yet, in order
	pending *Entry  // the plan that names the client and has no answer of it yet
	queue   []Entry // outcomes to be followed after pending
}

// NewSite returns the site of a client before the first plan. The records must stay the
// same for the whole study. They must be such that the client can take part in every
// phase. NewSite returns an error for a study that does something as published.
func NewSite(st *study.Study, roster []pvi.ClientID, id pvi.ClientID, records *shard.Records) (*Site, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	s := &Site{course: c, id: id, records: records}
	if err := s.advance(); err != nil || s.rounds != nil {
		return s, err
	}
	// The site checks the records for later phases now, because an error in a later phase would
	// come after the client has been charged.
	_, err = c.public.NewSite(id, shard.Design(c.public.Study(), records))
	return s, err
}

// advance begins the next phase when all plans of those before it have an outcome.
func (s *Site) advance() error {
	place, _ := s.course.at(s.outcomes() + 1)
	if place < len(s.phases) {
		return nil
	}
	p, err := s.course.phases[place].newSite(s)
	if err != nil {
		return err
	}
	s.phases = append(s.phases, p)
	return nil
}

// outcomes returns the number of outcomes that were followed, of all phases.
func (s *Site) outcomes() (n int) {
	for _, p := range s.phases {
		n += p.outcomes()
	}
	return n
}

// ForDevice returns nil if a device can take the study's private gradient steps, and otherwise
// an error with the reason.
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

// ID returns the client's name.
func (s *Site) ID() pvi.ClientID { return s.id }

// Pending returns the plan that names this client, has no answer of it, and has no
// outcome; false if there is none.
func (s *Site) Pending() (plan int, ok bool) {
	if s.pending == nil {
		return 0, false
	}
	return s.pending.Plan, true
}

// Plans returns the number of plans so far, whomever they name, and of the whole study.
func (s *Site) Plans() (soFar, all int) { return s.planned, s.course.plans() }

// Done reports whether the site has followed an outcome of every plan of the study.
func (s *Site) Done() bool {
	return s.planned == s.course.plans() && len(s.open) == 0 && len(s.queue) == 0
}

// Digest returns the identity of the scaling while the scale is sought, and then that of
// the protocol on the scale that was found.
func (s *Site) Digest() [32]byte { return s.course.digest }

// Releases returns the number of the client's charged releases.
func (s *Site) Releases() (n int) {
	for _, p := range s.phases {
		n += p.releases()
	}
	return n
}

// Result returns the result of the study, as this client computed it for itself. Every
// plan must have an outcome.
func (s *Site) Result() (*Result, error) {
	if !s.Done() {
		return nil, errNotDone
	}
	return result(s.course, s.phases, s.rounds.Posterior())
}

// Beyond returns by column how many values of the client's records lie beyond the scale
// that was found, and so count as at its ends; nil before it is found. The counts must
// not leave the client.
func (s *Site) Beyond() map[string]int {
	if s.course.study.HasScale() || s.rounds == nil {
		return nil
	}
	counts := map[string]int{}
	shard.Beyond(counts, s.course.protocol.Study(), s.records)
	return counts
}

// isOpen returns the place of a plan among the open ones.
func (s *Site) isOpen(plan int) (at int, ok bool) { return slices.BinarySearch(s.open, plan) }

// named adds the client's name to an error.
func (s *Site) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("client %s: %w", s.id, err)
}

// Foretell computes the body of the next plan from the entries so far. It returns nil while a
// plan is open, after the last plan, and in an asynchronous study. Machines of different kinds
// may round differently, so a coordinator may publish another body.
func (s *Site) Foretell() []byte {
	plan := s.planned + 1
	if len(s.open) > 0 || len(s.queue) > 0 || plan > s.course.plans() {
		return nil
	}
	place, number := s.course.at(plan)
	if body, ok := s.phases[place].foretell(number); ok {
		return body
	}
	return nil
}

// Foretells reports whether plans of a study can be foretold at all.
func Foretells(st *study.Study) bool { return st.Inference.Schedule != study.Asynchronous }
