package pvi

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"fedpvi/dpmech"
	"fedpvi/pvi/method"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Site is one client's state machine for the rounds of a study. It answers plans, using the
// client's records. It also computes λ itself from the outcomes, and refuses a plan with a
// different λ.
type Site struct {
	position
	id       ClientID
	client   method.Client
	answered int     // number of the last plan that the client answered
	centre   []int64 // Centre of the open plan
	open     int     // number of the plan that was answered and has no outcome, or 0
	sent     Digest  // hash of the release for the open plan, if the study publishes releases
}

// NewSite returns the site of a client with the given records, before the first plan.
func (p *Protocol) NewSite(id ClientID, s *shard.Shard) (*Site, error) {
	if err := p.checkShard(s); err != nil {
		return nil, err
	}
	c, err := p.method.NewClient(s)
	if err != nil {
		return nil, err
	}
	return newSite(p, id, c)
}

// NewSolverSite returns a client's site with the given solver, before the first plan. The solver
// must come from [Protocol.NewSolver], or wrap one that does.
func NewSolverSite(p *Protocol, id ClientID, s solver.Solver) (*Site, error) {
	refining, ok := p.method.(method.Refining)
	if !ok {
		return nil, errNoSolver
	}
	return newSite(p, id, refining.NewSolverClient(s))
}

var errNoSolver = errors.New("a client of this study has no solver of one factor: NewSite makes its site")

// NewSolver returns the solver for a client with the records s. It returns an error if the study's
// method does not compute a factor per client.
func (p *Protocol) NewSolver(s *shard.Shard) (solver.Solver, error) {
	if err := p.checkShard(s); err != nil {
		return nil, err
	}
	refining, ok := p.method.(method.Refining)
	if !ok {
		return nil, errNoSolver
	}
	return refining.NewSolver(s)
}

func newSite(p *Protocol, id ClientID, c method.Client) (*Site, error) {
	if _, ok := p.roster.Index(id); !ok {
		return nil, fmt.Errorf("client %q is not in the roster", id)
	}
	return &Site{position: position{protocol: p, q: newPosterior(p)}, id: id, client: c}, nil
}

// ID returns the name of the client.
func (s *Site) ID() ClientID { return s.id }

// Propose answers a plan: it writes the client's release to r, with noise from src. If the client
// must not answer the plan, Propose returns [Refused] and does nothing.
//
// After any other error, r is empty. Releases made before the error count nevertheless, because
// others may notice that the client failed. Once the noise has been drawn, the plan counts as
// answered.
func (s *Site) Propose(r *Release, plan *Plan, src *dpmech.Stream) error {
	r.Change = r.Change[:0]
	if err := s.Check(plan); err != nil {
		return err
	}
	p := s.protocol
	n := p.messages.Size
	dst := slices.Grow(r.Change, n)[:n]
	drawn, err := s.client.Release(dst, &method.Task{
		Number: plan.Number, Lambda: s.q.lambda, Natural: s.q.natural(), Mean: s.q.mean(),
		Centre: plan.Centre, Walk: s.q.walk, Weight: p.weight(plan),
	}, src)
	if drawn {
		s.answered = plan.Number
	}
	if err != nil {
		return fmt.Errorf("client %s: %w", s.id, err)
	}
	r.Protocol, r.Number, r.Client, r.Change = plan.Protocol, plan.Number, s.id, dst
	s.answered, s.open, s.centre = plan.Number, plan.Number, plan.Centre
	if p.publishes() {
		s.sent = phase.HashOf(dst)
	}
	return nil
}

// weight returns how far λ moves if all clients of the plan send the same change, as a multiple of
// that change.
func (p *Protocol) weight(plan *Plan) float64 {
	return math.Ldexp(float64(p.damping(plan.Number)), -method.DampingBits) * float64(len(plan.Participants))
}

// Check returns the error with which Propose would refuse the plan, or nil if it would answer.
func (s *Site) Check(plan *Plan) error {
	p := s.protocol
	if plan.Protocol != p.digest {
		return refuse("the plan is for protocol %.16s, this is %.16s", plan.Protocol, p.digest)
	}
	if plan.Number < 1 || plan.Number > p.Plans() {
		return refuse("plan %d is not among the study's %d plans", plan.Number, p.Plans())
	}
	if plan.Number <= s.answered {
		return refuse("client %q has answered plan %d, and this is plan %d", s.id, s.answered, plan.Number)
	}
	if s.open != 0 {
		return refuse("client %q still waits for the outcome of plan %d", s.id, s.open)
	}
	if !p.roster.Selects(plan.Participants) {
		return refuse("plan %d asks clients that are not in the roster, or not in order", plan.Number)
	}
	if _, ok := slices.BinarySearch(plan.Participants, s.id); !ok {
		return refuse("client %q is not among those of plan %d", s.id, plan.Number)
	}
	if len(plan.Participants) < p.Fewest() {
		return refuse("plan %d asks %d clients, fewer than the %d for which noise shares were made", plan.Number, len(plan.Participants), p.Fewest())
	}
	if !s.q.same(plan.Lambda) {
		return refuse("the λ of plan %d does not follow from the outcomes that client %q has seen", plan.Number, s.id)
	}
	if s.Releases() >= p.method.Releases() && !s.client.Reuses() {
		return refuse("client %q has released %d times, which is all that the study pays for", s.id, s.Releases())
	}
	return p.checkCentre(plan.Centre)
}

// Settle applies an outcome. It must be called for all outcomes of the study, in order. If an
// outcome contradicts the site's state, Settle returns [Refused], and the client must stop. Where
// rounding decides whether the new λ is proper, the site accepts the server's verdict.
func (s *Site) Settle(o *Outcome) error {
	p := s.protocol
	if err := s.checkOutcome(o); err != nil {
		return err
	}
	if o.Verdict != Void {
		accepted := o.Verdict == Accepted
		if s.q.try(o.Number, len(o.Participants), p.combined(len(o.Participants), o.Sum, o.Releases), o.Centre) != accepted && !s.q.borderline() {
			return refuse("the verdict on plan %d is %q, which does not follow from its sum", o.Number, o.Verdict)
		}
		if accepted {
			if _, took := slices.BinarySearch(o.Participants, s.id); took {
				s.client.Follow(p.damping(o.Number), s.centre)
			}
			s.q.commit()
		}
	}
	if s.open == o.Number {
		s.open, s.centre, s.sent = 0, nil, Digest{}
	}
	s.sequence = o.Sequence
	if s.sequence == p.Plans() {
		s.q.end()
	}
	return nil
}

func (s *Site) checkOutcome(o *Outcome) error {
	p := s.protocol
	if o.Protocol != p.digest {
		return refuse("the outcome is for protocol %.16s, this is %.16s", o.Protocol, p.digest)
	}
	if o.Sequence != s.sequence+1 {
		return refuse("outcome %d came where outcome %d was next", o.Sequence, s.sequence+1)
	}
	if o.Sequence > p.Plans() || !p.follows(o.Number, o.Sequence) {
		return refuse("outcome %d cannot be of plan %d", o.Sequence, o.Number)
	}
	if !p.roster.Selects(o.Participants) {
		return refuse("the outcome of plan %d counts answers of clients that are not in the roster, or not in order", o.Number)
	}
	if err := p.checkReleases(o); err != nil {
		return err
	}
	if at, took := slices.BinarySearch(o.Participants, s.id); took {
		if s.open != o.Number {
			return refuse("the outcome of plan %d counts an answer that client %q did not give", o.Number, s.id)
		}
		if !slices.Equal(o.Centre, s.centre) {
			return refuse("the outcome of plan %d has another centre than the plan", o.Number)
		}
		if err := s.checkOwn(o, at); err != nil {
			return err
		}
	}
	if err := p.checkCentre(o.Centre); err != nil {
		return err
	}
	switch o.Verdict {
	case Void:
		if o.Sum != nil {
			return refuse("the outcome of plan %d is void and has a sum", o.Number)
		}
		return nil
	case Accepted, Rejected:
		return p.checkSum(o)
	}
	return refuse("the verdict on plan %d is %q", o.Number, o.Verdict)
}

// checkSum refuses a sum that covers too few answers, has the wrong length, or contains an element
// that is too large.
func (p *Protocol) checkSum(o *Outcome) error {
	if len(o.Participants) < p.Fewest() {
		return refuse("the sum of plan %d was opened for %d answers, fewer than the %d for which noise shares were made", o.Number, len(o.Participants), p.Fewest())
	}
	if len(o.Sum) != p.messages.Size {
		return refuse("the outcome of plan %d has %d elements, want %d", o.Number, len(o.Sum), p.messages.Size)
	}
	most := p.messages.Range.Of(len(o.Participants))
	for i, n := range o.Sum {
		if n > most || n < -most {
			return refuse("element %d of the sum of plan %d is beyond what %d answers can yield", i+1, o.Number, len(o.Participants))
		}
	}
	return nil
}

// follows reports whether an outcome with the given sequence number can belong to plan n. The two
// numbers are equal, except in an asynchronous schedule, where several plans may be open, one for
// each client.
func (p *Protocol) follows(n, sequence int) bool {
	ahead := 0
	if p.study.Inference.Schedule == study.Asynchronous {
		ahead = len(p.roster.Clients) - 1
	}
	return n >= 1 && n <= p.Plans() && n <= sequence+ahead && (ahead > 0 || n == sequence)
}

// Releases returns the number of releases that must be charged so far. [Protocol.Costs] returns
// their cost.
func (s *Site) Releases() int {
	spent := s.client.Spent()
	return spent.Changes + spent.Statistics
}

// Ahead returns the number of releases that must be charged for the next answer. An answer that
// fails may make fewer.
func (s *Site) Ahead() int {
	return min(s.client.Ahead(), s.protocol.method.Releases()-s.Releases())
}

// OnDevice lets the site take its private steps on a device. records must be those that were passed
// to NewSite. The cost stays the same. If the device does not support the study, OnDevice returns
// an error and changes nothing.
func (s *Site) OnDevice(records *shard.Shard, a solver.Accelerator) error {
	c, ok := s.client.(method.DeviceClient)
	if !ok {
		return errors.New("a device takes the private gradient steps of one solver of all of a client's records")
	}
	return c.OnDevice(records, a)
}
