package session

import (
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

// Foretell returns the body of the next plan as it follows from the entries that were followed; nil if it does not:
// while a question is open, after the last one, and in an asynchronous study. A server on a machine of another kind may
// say another, where rounding leads to a part of it.
func (s *Site) Foretell() []byte {
	ask := s.planned + 1
	if len(s.open) > 0 || len(s.queue) > 0 || ask > s.course.asks() {
		return nil
	}
	switch in, number := s.course.at(ask); in {
	case scaling:
		plan := s.scale.Foretell()
		return wire.AppendScalePlan(nil, &plan)
	case rounds:
		plan, ok := s.rounds.Foretell(number)
		if !ok {
			return nil
		}
		return wire.AppendPlan(nil, &plan)
	}
	plan := s.last.Foretell()
	return wire.AppendOneStepPlan(nil, &plan)
}

// Foretells reports whether plans of a study can be foretold at all.
func Foretells(st *study.Study) bool { return st.Inference.Schedule != study.Asynchronous }
