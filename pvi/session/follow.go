package session

import (
	"slices"

	"fedpvi/pvi"
	"fedpvi/pvi/wire"
)

// Follow takes the next entry: a plan is remembered if it asks this client, an outcome
// followed. One that does not follow from the entries before is [pvi.Refused]: the
// coordinator has lied, or state was lost, and the client must stop. Any other error
// ends the study too.
func (s *Site) Follow(e Entry) error {
	if err := s.drain(); err != nil {
		return err
	}
	in, number := s.course.at(e.Ask)
	switch {
	case e.Ask < 1 || e.Ask > s.course.asks():
		return refuse("question %d is none of the study's %d", e.Ask, s.course.asks())
	case e.Kind == kinds[in].plan:
		return s.followPlan(in, number, e)
	case e.Kind == kinds[in].outcome:
		return s.followOutcome(e)
	}
	return refuse("question %d has an entry of kind %q, want %q or %q", e.Ask, e.Kind, kinds[in].plan, kinds[in].outcome)
}

func (s *Site) followPlan(in phase, number int, e Entry) error {
	if e.Ask != s.planned+1 {
		return refuse("question %d came where question %d was next", e.Ask, s.planned+1)
	}
	if in != s.phase() {
		return refuse("question %d came before the end of the phase before it", e.Ask)
	}
	asked, err := s.checkPlan(in, number, e.Body)
	if err != nil {
		return err
	}
	s.planned = e.Ask
	s.open = append(s.open, e.Ask)
	if asked {
		s.pending = &e
	}
	return nil
}

// checkPlan refuses a plan that this client could not answer, and one for others that is
// out of place. It reports whether the client is asked.
func (s *Site) checkPlan(in phase, number int, body []byte) (asked bool, err error) {
	l := s.course.limits
	switch in {
	case scaling:
		plan, err := wire.ReadScalePlan(body, l)
		if err != nil {
			return false, err
		}
		if plan.Number != number {
			return false, misnumbered(number)
		}
		return true, s.scale.Check(plan)
	case rounds:
		plan, err := wire.ReadPlan(body, l)
		if err != nil {
			return false, err
		}
		return s.checkRound(number, plan)
	}
	plan, err := wire.ReadOneStepPlan(body, l)
	if err != nil {
		return false, err
	}
	return true, s.last.Check(plan)
}

func (s *Site) checkRound(number int, plan *pvi.Plan) (asked bool, err error) {
	if plan.Number != number {
		return false, misnumbered(number)
	}
	if digest := s.course.protocol.Digest(); plan.Protocol != digest {
		return false, refuse("the plan is for protocol %.16s, this is %.16s", plan.Protocol, digest)
	}
	if _, asked = slices.BinarySearch(plan.Participants, s.id); !asked {
		return false, nil
	}
	if s.pending != nil {
		return false, refuse("client %q is asked again before question %d has an outcome", s.id, s.pending.Ask)
	}
	return true, s.rounds.Check(plan)
}

func misnumbered(number int) error {
	return refuse("message %d of its phase says that it is another", number)
}

func (s *Site) followOutcome(e Entry) error {
	at, ok := s.isOpen(e.Ask)
	if !ok {
		return refuse("question %d is not open and has an outcome", e.Ask)
	}
	if s.pending != nil && s.pending.Ask != e.Ask {
		if err := s.checkQueued(e); err != nil {
			return err
		}
		s.queue = append(s.queue, e)
		s.open = slices.Delete(s.open, at, at+1)
		return nil
	}
	pending := s.pending
	s.pending = nil // it ended without this client
	err := s.drain()
	if err == nil {
		err = s.settle(e)
	}
	if err != nil {
		s.pending = pending
		return err
	}
	s.open = slices.Delete(s.open, at, at+1)
	return nil
}

// checkQueued refuses an outcome that could not come next, as far as that can be told
// before those in front of it are followed.
func (s *Site) checkQueued(e Entry) error {
	o, err := wire.ReadOutcome(e.Body, s.course.limits)
	if err != nil {
		return err
	}
	digest := s.course.protocol.Digest()
	switch next := s.rounds.Followed() + len(s.queue) + 1; {
	case o.Protocol != digest:
		return refuse("the outcome is for protocol %.16s, this is %.16s", o.Protocol, digest)
	case o.Sequence != next:
		return refuse("outcome %d came where outcome %d was next", o.Sequence, next)
	case s.course.ask(rounds, o.Number) != e.Ask:
		return misnumbered(o.Number)
	}
	return nil
}

// drain follows the outcomes that were kept, unless the client has yet to answer.
func (s *Site) drain() error {
	for s.pending == nil && len(s.queue) > 0 {
		if err := s.settle(s.queue[0]); err != nil {
			return err
		}
		s.queue = s.queue[1:]
	}
	return nil
}

// settle follows an outcome, and begins the next phase if it was the last of one.
func (s *Site) settle(e Entry) error {
	var err error
	switch in, number := s.course.at(e.Ask); in {
	case scaling:
		err = s.settlePass(number, e.Body)
	case rounds:
		err = s.settleRound(number, e.Body)
	case last:
		err = s.settleLast(e.Body)
	}
	if err != nil {
		return err
	}
	return s.named(s.advance())
}

func (s *Site) settlePass(number int, body []byte) error {
	o, err := wire.ReadScaleOutcome(body, s.course.limits)
	if err != nil {
		return err
	}
	if o.Number != number {
		return misnumbered(number)
	}
	return s.scale.Settle(o)
}

func (s *Site) settleRound(number int, body []byte) error {
	o, err := wire.ReadOutcome(body, s.course.limits)
	if err != nil {
		return err
	}
	if o.Number != number {
		return misnumbered(number)
	}
	if err := s.rounds.Settle(o); err != nil {
		return err
	}
	s.verdicts.count(o.Verdict)
	return nil
}

func (s *Site) settleLast(body []byte) error {
	o, err := wire.ReadOneStepOutcome(body, s.course.limits)
	if err != nil {
		return err
	}
	if err := s.last.Settle(o); err != nil {
		return err
	}
	s.ending = o
	return nil
}
