package session

import (
	"fmt"
	"slices"

	"fedpvi/gpu/cuda"
	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Site follows a study for one client and answers the plans that name it. Follow must be called
// with every entry, in order.
//
// While a plan is pending, the outcomes of other plans wait in a queue. So a client always computes
// its answer from the λ in the plan, even if later outcomes have arrived. A client that was away
// follows all entries before it checks whether a plan is still pending.
//
// A Site is not safe for concurrent use.
type Site struct {
	run[sitePhase]
	id      pvi.ClientID
	records *shard.Records

	rounds *pvi.Site    // site of the rounds; nil before the rounds
	shard  *shard.Shard // records on the final scale; nil before the rounds

	device *solver.Accelerator // device for gradient steps; nil for the CPU

	open    []int   // plans without an outcome, increasing
	pending *Entry  // open plan that the client must answer, or nil
	queue   []Entry // outcomes to apply when no plan is pending
}

// NewSite returns the site of a client before the first plan. The records must stay the same for
// the whole study, and every phase must be able to use them. A study whose published privacy claim
// does not hold is refused.
func NewSite(st *study.Study, roster []pvi.ClientID, id pvi.ClientID, records *shard.Records) (*Site, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	s := &Site{run: run[sitePhase]{course: c}, id: id, records: records}
	if err := s.advance(s.begin); err != nil || s.rounds != nil {
		return s, err
	}
	// Check the records for the later phases too, before the client is charged.
	_, err = c.public.NewSite(id, shard.Design(c.public.Study(), records))
	return s, err
}

func (s *Site) begin(p phase) (sitePhase, error) { return p.newSite(s) }

// ForDevice returns nil if a device can take the study's private gradient steps, and otherwise the
// reason why not.
func (s *Site) ForDevice() error { return s.course.public.OnDevice() }

// Work estimates the computations of one answer, so that the client can judge whether to use a
// device. It assumes the public number of records. It includes the transfer of the records, which
// the device receives for each answer.
func (s *Site) Work() cuda.Work {
	p := s.course.public
	f := &p.Study().Federation
	records := f.MaxRecords
	if f.NominalRecords > 0 {
		records = f.NominalRecords
	}
	w := p.Work(records)
	w.Rounds = 1
	return w
}

// OnDevice makes the site take its private gradient steps on a device, even if the rounds have not
// begun. It returns an error if a device cannot take them.
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

// ID returns the name of the client.
func (s *Site) ID() pvi.ClientID { return s.id }

// Pending returns the open plan that this client must still answer, or false if there is none.
func (s *Site) Pending() (plan int, ok bool) {
	if s.pending == nil {
		return 0, false
	}
	return s.pending.Plan, true
}

// Open reports whether a plan is open, for any client.
func (s *Site) Open() bool { return len(s.open) > 0 }

// Done reports whether all outcomes of the study were applied.
func (s *Site) Done() bool {
	return s.planned == s.course.plans() && len(s.open) == 0 && len(s.queue) == 0
}

// Releases returns the number of releases that were charged to the client.
func (s *Site) Releases() (n int) {
	for _, p := range s.phases {
		n += p.releases()
	}
	return n
}

// Result returns the result of the study as computed by this client. Every plan must have an
// outcome.
func (s *Site) Result() (*Result, error) {
	if !s.Done() {
		return nil, errNotDone
	}
	return s.result(s.rounds.Posterior())
}

// Beyond counts, by column, the client's values outside the bounds from the scale phase, which the
// model moves to the nearest bound. It returns nil before the scale phase has ended, and without
// one. The counts must not leave the client.
func (s *Site) Beyond() map[string]int {
	if s.course.study.HasScale() || s.rounds == nil {
		return nil
	}
	counts := map[string]int{}
	shard.Beyond(counts, s.course.protocol.Study(), s.records)
	return counts
}

func (s *Site) isOpen(plan int) (at int, ok bool) { return slices.BinarySearch(s.open, plan) }

func (s *Site) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("client %s: %w", s.id, err)
}

// Foretell returns the body of the next plan, computed from the entries so far, so that a client
// can prepare for it. It returns nil while a plan is open, after the last plan, and in an
// asynchronous study. Because of rounding, the coordinator may publish a slightly different plan.
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

// ForetellOutcome predicts the body of the outcome of the open plan from its opened sum, assuming
// that the new λ is accepted. It returns nil unless exactly one plan is open.
func (s *Site) ForetellOutcome(sum Sum) []byte {
	if len(s.open) != 1 {
		return nil
	}
	place, number := s.course.at(s.open[0])
	size := s.course.phases[place].numbers(number)
	if place >= len(s.phases) || len(sum.Elements) < size {
		return nil
	}
	return s.phases[place].foretellOutcome(number, Sum{Participants: sum.Participants, Elements: sum.Elements[:size]})
}

// Foretells reports whether sites can compute plans from earlier entries.
func Foretells(st *study.Study) bool { return st.Inference.Schedule != study.Asynchronous }
