package pvi

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"fedpvi/dpmech"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Site owns one client's records and factor. It answers plans and follows
// outcomes, and computes λ for itself: a plan whose λ is not what the outcomes
// lead to is refused.
//
// A release changes the site's state. The caller must have saved the state
// before a byte of the release leaves the house, and must send the same bytes
// again rather than ask for a new release.
type Site struct {
	protocol *Protocol
	id       ClientID
	solver   solver.Solver // of the client's factor; nil if there are parts, or gradients are summed

	parts     *parts              // nil unless the study deals records to parts
	gradients *solver.GradientSum // nil unless they are summed

	q        *posterior
	sequence int    // of the last outcome
	answered int    // number of the last plan that was answered
	factor   []Wide // λ_m; nil for tied factors
	proposed []int64
	centre   []int64 // of the plan that proposed is for
	open     int     // number of that plan; 0 if none
	spent    spending

	target, current, cavity []float64 // scratch
	exact                   []int64
	noise                   dpmech.Noise
}

// spending counts what a site released.
type spending struct {
	Changes    int // changes of its factor, hidden by the protocol's mechanism
	Statistics int // sums over its records, of statistics or gradients, hidden by the solver's
}

// NewSolverSite returns the site of a client at the prior, whose factor the given solver
// refines: that of [Protocol.NewSolver], or one around it. [Protocol.NewSite] makes both.
func NewSolverSite(p *Protocol, id ClientID, s solver.Solver) (*Site, error) {
	if p.parts != nil {
		return nil, errors.New("the study has inference.partitions, and a solver for each of them")
	}
	site, err := newSite(p, id)
	if err != nil {
		return nil, err
	}
	site.solver = s
	return site, nil
}

func newSite(p *Protocol, id ClientID) (*Site, error) {
	if _, ok := p.clientIndex(id); !ok {
		return nil, fmt.Errorf("client %q is not in the roster", id)
	}
	n := p.family.Size()
	site := &Site{
		protocol: p,
		id:       id,
		q:        newPosterior(p),
		target:   make([]float64, n),
		current:  make([]float64, n),
		cavity:   make([]float64, n),
		exact:    make([]int64, n),
	}
	if p.Summed() {
		return site, nil // it has no factor
	}
	site.proposed = make([]int64, n)
	if p.study.Inference.Factors != study.Tied && !p.virtualFactors() {
		site.factor = make([]Wide, n)
	}
	return site, nil
}

// ID returns the client's name.
func (s *Site) ID() ClientID { return s.id }

// Propose answers a plan: it writes to r the change of the factor that the
// site's solver proposes, clipped and noised as the study says, with noise from
// src, which is drawn and charged before anything looks at the records. A plan
// that is out of place is [Refused], and nothing is computed.
//
// Any other error leaves r without a change, and what was drawn up to it is
// charged: that there was an error may be seen. A plan whose noise was drawn
// counts as answered.
func (s *Site) Propose(r *Release, plan *Plan, src *dpmech.Stream) error {
	r.Change = r.Change[:0]
	if err := s.check(plan); err != nil {
		return err
	}
	if s.gradients != nil {
		return s.releaseGradients(r, plan, src)
	}
	p := s.protocol
	if m := p.changes(); m != nil {
		s.spent.Changes++
		s.answered = plan.Number
		m.Draw(&s.noise, src)
	}
	change, err := s.change(plan, src)
	if err != nil {
		return fmt.Errorf("client %s: %w", s.id, err)
	}
	dst := slices.Grow(r.Change, s.size())[:s.size()]
	if err := s.gate(dst, change, plan.Centre); err != nil {
		return fmt.Errorf("client %s: %w", s.id, err)
	}
	r.Protocol, r.Number, r.Client, r.Change = plan.Protocol, plan.Number, s.id, dst
	s.answered, s.open, s.centre = plan.Number, plan.Number, plan.Centre
	return nil
}

// size returns the number of elements of a change.
func (s *Site) size() int { return s.protocol.family.Size() }

// change returns by how much the solver would change the client's factor. If there are
// parts it leaves the sum of their clipped changes with them, and returns nil.
func (s *Site) change(plan *Plan, src *dpmech.Stream) ([]float64, error) {
	if s.parts != nil {
		return nil, s.parts.add(s.q, s.factor, plan, src)
	}
	p := s.protocol
	s.factorNow(s.current)
	for i, q := range s.q.natural() {
		s.cavity[i] = q - s.current[i]
	}
	problem := solver.Problem{Family: p.family, Mean: s.q.mean(), Natural: s.q.natural(), Cavity: s.cavity, Weight: p.weight(plan), Tied: s.factor == nil}
	events, err := s.solver.Propose(s.target, problem, src)
	s.spent.Statistics += len(events)
	if p.sampled != nil && len(events) > 0 {
		s.answered = plan.Number
	}
	if p.clients != nil && errors.Is(err, solver.ErrDiverged) {
		// That the records lead nowhere is private: it counts as no change.
		fill(s.target, math.NaN())
		err = nil
	}
	if err != nil {
		return nil, err
	}
	for i, now := range s.current {
		s.target[i] -= now
	}
	if p.sampled != nil {
		p.shorten(s.target)
	}
	return s.target, nil
}

// gate turns the proposed change into what leaves the house, under the noise that
// was drawn and charged for it. What the site may remember of it goes to
// s.proposed.
func (s *Site) gate(dst []int64, change []float64, centre []int64) error {
	p := s.protocol
	if p.parts != nil {
		// What the client remembers of the sum, beside its parts' own changes, is what
		// anybody could read.
		err := p.parts.ReleaseSum(dst, s.exact, &s.noise, s.parts.sum)
		copy(s.proposed, dst)
		return err
	}
	if p.clients == nil {
		if err := p.lattice.Truncate(dst, change, p.limit); err != nil {
			return fmt.Errorf("the proposed change does not fit (a smaller damping may keep q from running away): %w", err)
		}
		copy(s.proposed, dst)
		return nil
	}
	if p.centred() {
		p.coordinates.FromNatural(change, centre)
	}
	// A change that is not finite counts as zero: that there is one is private.
	if !finite(change) {
		clear(change)
	}
	if err := p.clients.ReleaseOne(dst, s.exact, &s.noise, change); err != nil {
		return err
	}
	if p.study.Inference.Factors == study.Published {
		copy(s.proposed, dst)
	} else {
		copy(s.proposed, s.exact)
	}
	return nil
}

func fill(v []float64, x float64) {
	for i := range v {
		v[i] = x
	}
}

func finite(v []float64) bool {
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

func (s *Site) check(plan *Plan) error {
	p := s.protocol
	if plan.Protocol != p.digest {
		return refuse("the plan is for protocol %.16s, this is %.16s", plan.Protocol, p.digest)
	}
	if plan.Number < 1 || plan.Number > p.Plans() {
		return refuse("plan %d is none of the study's %d", plan.Number, p.Plans())
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
		return refuse("client %q is not asked by plan %d", s.id, plan.Number)
	}
	if len(plan.Participants) < p.fewest() {
		return refuse("plan %d asks %d clients, fewer than the %d for which noise shares were made", plan.Number, len(plan.Participants), p.fewest())
	}
	if !s.q.same(plan.Lambda) {
		return refuse("the λ of plan %d does not follow from the outcomes that client %q has seen", plan.Number, s.id)
	}
	if s.Releases() >= p.inRounds(p.Releases()) && !s.reuses() {
		return refuse("client %q has released %d times, which is all that the study pays for", s.id, s.Releases())
	}
	return p.checkCentre(plan.Centre)
}

// reuses reports whether the next answer is a function of what was released: no
// privacy at all is asked for, or the records' statistics are out.
func (s *Site) reuses() bool {
	p := s.protocol
	if p.records != nil {
		return p.study.Inference.Factors != study.Published
	}
	return p.changes() == nil && p.sampled == nil
}

// factorNow writes to dst the natural parameters of the client's factor.
func (s *Site) factorNow(dst []float64) {
	p := s.protocol
	if s.factor != nil {
		for i, w := range s.factor {
			dst[i] = w.Float(p.exponent)
		}
		return
	}
	weight := 1 / float64(len(p.roster.Clients))
	for i, w := range s.q.lambda {
		dst[i] = w.Float(p.exponent) * weight
	}
}

// Settle follows an outcome. It must be called for every outcome of the study,
// in order. One that contradicts what the site knows is [Refused]: a client must
// then stop, since the coordinator has lied or state was lost. Where λ is so close
// to improper that machines may disagree, the server's verdict stands.
func (s *Site) Settle(o *Outcome) error {
	p := s.protocol
	if err := s.checkOutcome(o); err != nil {
		return err
	}
	if o.Verdict != Void {
		accepted := o.Verdict == Accepted
		if s.q.try(o.Number, o.Sum, o.Centre) != accepted && !s.q.borderline() {
			return refuse("the verdict on plan %d is %q, which does not follow from its sum", o.Number, o.Verdict)
		}
		if accepted {
			if _, took := slices.BinarySearch(o.Participants, s.id); took {
				s.follow(p.damping(o.Number))
			}
			s.q.commit()
		}
	}
	if s.open == o.Number {
		s.open, s.centre = 0, nil
	}
	s.sequence = o.Sequence
	if s.sequence == p.Plans() {
		s.q.end()
	}
	return nil
}

// follow moves by alpha what the site remembers of its factor.
func (s *Site) follow(alpha int64) {
	if s.factor != nil {
		s.protocol.coordinates.Move(s.factor, s.proposed, alpha, s.centre)
	}
	if s.parts != nil {
		s.parts.settle(alpha, s.centre)
	}
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
	if _, took := slices.BinarySearch(o.Participants, s.id); took {
		if s.open != o.Number {
			return refuse("the outcome of plan %d counts an answer that client %q did not give", o.Number, s.id)
		}
		if !slices.Equal(o.Centre, s.centre) {
			return refuse("the outcome of plan %d has another centre than the plan", o.Number)
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

// checkSum refuses a sum that the answers that it counts cannot yield.
func (p *Protocol) checkSum(o *Outcome) error {
	if len(o.Participants) < p.fewest() {
		return refuse("the sum of plan %d was opened for %d answers, fewer than the %d for which noise shares were made", o.Number, len(o.Participants), p.fewest())
	}
	if len(o.Sum) != p.messageSize() {
		return refuse("the outcome of plan %d has %d elements, want %d", o.Number, len(o.Sum), p.messageSize())
	}
	most := int64(len(o.Participants)) * p.limit
	for i, n := range o.Sum {
		if n > most || n < -most {
			return refuse("element %d of the sum of plan %d is beyond what %d answers can yield", i+1, o.Number, len(o.Participants))
		}
	}
	return nil
}

// follows reports whether outcome number sequence can be of plan n: plans end in
// order, but for an asynchronous schedule, where one of each client is under way.
func (p *Protocol) follows(n, sequence int) bool {
	ahead := 0
	if p.study.Inference.Schedule == study.Asynchronous {
		ahead = len(p.roster.Clients) - 1
	}
	return n >= 1 && n <= p.Plans() && n <= sequence+ahead && (ahead > 0 || n == sequence)
}

// Releases returns how often the client has released something that costs
// privacy. [Protocol.Costs] says what that comes to.
func (s *Site) Releases() int { return s.spent.Changes + s.spent.Statistics }
