package session

import "slices"

// Follow processes the next entry of the study. A plan that asks this client becomes the pending
// plan. An outcome is applied, or put in a queue if a plan is pending. If the entry contradicts
// earlier ones, Follow returns [pvi.Refused], and the client must stop. Any other error ends the
// study as well.
func (s *Site) Follow(e Entry) error {
	if err := s.drain(); err != nil {
		return err
	}
	if all := s.course.plans(); e.Plan < 1 || e.Plan > all {
		return refuse("plan %d is not among the study's %d plans", e.Plan, all)
	}
	place, number := s.course.at(e.Plan)
	switch plan, outcome := s.course.phases[place].kinds(); e.Kind {
	case plan:
		return s.followPlan(place, number, e)
	case outcome:
		return s.followOutcome(e)
	default:
		return refuse("plan %d has an entry of kind %q, want %q or %q", e.Plan, e.Kind, plan, outcome)
	}
}

func (s *Site) followPlan(place, number int, e Entry) error {
	if e.Plan != s.planned+1 {
		return refuse("plan %d came where plan %d was next", e.Plan, s.planned+1)
	}
	if place != len(s.phases)-1 {
		return refuse("plan %d came before the end of the phase before it", e.Plan)
	}
	named, err := s.phases[place].check(number, e.Body)
	if err != nil {
		return err
	}
	s.planned = e.Plan
	s.open = append(s.open, e.Plan)
	if named {
		s.pending = &e
	}
	return nil
}

func (s *Site) followOutcome(e Entry) error {
	at, ok := s.isOpen(e.Plan)
	if !ok {
		return refuse("plan %d is not open and has an outcome", e.Plan)
	}
	if s.pending != nil && s.pending.Plan != e.Plan {
		if err := s.checkQueued(e); err != nil {
			return err
		}
		s.queue = append(s.queue, e)
		s.open = slices.Delete(s.open, at, at+1)
		return nil
	}
	pending := s.pending
	s.pending = nil // the plan has ended without this client's answer
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

// checkQueued refuses an outcome that cannot be the next one. It checks as much as is known before
// the queue is applied.
func (s *Site) checkQueued(e Entry) error {
	_, number := s.course.at(e.Plan)
	return s.phaseOf(&e).checkQueued(number, e.Body, len(s.queue))
}

// drain applies the outcomes in the queue, unless a plan is pending.
func (s *Site) drain() error {
	for s.pending == nil && len(s.queue) > 0 {
		if err := s.settle(s.queue[0]); err != nil {
			return err
		}
		s.queue = s.queue[1:]
	}
	return nil
}

// settle applies an outcome. If it is the last one of a phase, settle begins the next phase.
func (s *Site) settle(e Entry) error {
	_, number := s.course.at(e.Plan)
	if err := s.phaseOf(&e).settle(number, e.Body); err != nil {
		return err
	}
	return s.named(s.advance(s.begin))
}
