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

// A Site follows a study for one client and answers the plans that ask this client. The caller must
// pass every entry to Follow, in order.
//
// While a plan is pending, the outcomes of other plans wait in a queue. A client therefore always
// computes its answer from the λ in the plan, even if later outcomes have arrived. A client that
// was away first follows all entries that it missed, and then checks whether a plan is still
// pending.
//
// A Site is not safe for concurrent use.
type Site struct {
	run[sitePhase]
	id      pvi.ClientID
	records *shard.Records

	rounds *pvi.Site    // site of the rounds; nil until they begin
	shard  *shard.Shard // records on the final scale; nil until the rounds begin

	device *solver.Accelerator // device for gradient steps; nil to use the CPU

	open    []int   // plans without an outcome, in increasing order
	pending *Entry  // open plan that asks the client, or nil
	queue   []Entry // outcomes to apply when no plan is pending
}

// NewSite returns the site of a client before the first plan. The records must not change during
// the study, and must be usable in every phase. NewSite refuses a study that uses a published
// method with a wrong privacy claim.
func NewSite(st *study.Study, roster []pvi.ClientID, id pvi.ClientID, records *shard.Records) (*Site, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	s := &Site{run: run[sitePhase]{course: c}, id: id, records: records}
	if err := s.advance(s.begin); err != nil || s.rounds != nil {
		return s, err
	}
	// The records are checked for the later phases too, before the client pays anything.
	_, err = c.public.NewSite(id, shard.Design(c.public.Study(), records))
	return s, err
}

func (s *Site) begin(p phase) (sitePhase, error) { return p.newSite(s) }

// ForDevice returns nil if a device can take the study's private gradient steps, and an error with
// the reason if it cannot.
func (s *Site) ForDevice() error { return s.course.public.OnDevice() }

// Work estimates how much computation one answer takes, so that the client can decide whether to
// use a device. The estimate is for the public number of records. It includes transferring the
// records to the device, which is done for each answer.
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

// OnDevice lets the site take its private gradient steps on a device. It may be called before the
// rounds begin. It returns an error if no device can take these steps.
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

// Pending returns the open plan that this client still has to answer. It returns false if there is
// none.
func (s *Site) Pending() (plan int, ok bool) {
	if s.pending == nil {
		return 0, false
	}
	return s.pending.Plan, true
}

// Open reports whether any plan is open, even if it asks other clients only.
func (s *Site) Open() bool { return len(s.open) > 0 }

// Done reports whether all outcomes of the study have been applied.
func (s *Site) Done() bool {
	return s.planned == s.course.plans() && len(s.open) == 0 && len(s.queue) == 0
}

// Releases returns the number of releases that the client has been charged for.
func (s *Site) Releases() (n int) {
	for _, p := range s.phases {
		n += p.releases()
	}
	return n
}

// Result returns the result of the study, as this client computes it. Every plan must have an
// outcome.
func (s *Site) Result() (*Result, error) {
	if !s.Done() {
		return nil, errNotDone
	}
	return s.result(s.rounds.Posterior())
}

// Beyond returns, for each column, how many of the client's values lie outside the bounds from the
// scale phase. The model moves these values to the nearest bound. Beyond returns nil if there is no
// scale phase or it has not ended. The counts must not leave the client.
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

// Foretell returns the body of the next plan. It computes the plan from the entries so far, so that
// a client can prepare for it. It returns nil while a plan is open, after the last plan, and in
// asynchronous studies. Because of rounding, the coordinator's plan may differ slightly.
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

// ForetellOutcome predicts the body of the open plan's outcome from the opened sum. It assumes that
// the new λ will be accepted. It returns nil unless exactly one plan is open.
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

// Foretells reports whether sites can compute plans in advance from the entries so far.
func Foretells(st *study.Study) bool { return st.Inference.Schedule != study.Asynchronous }
