package pvi

import "fedpvi/pvi/phase"

// The methods of Site in this file let a client check a plan or an outcome before it acts on them.

// Check returns the error that Propose would return for the plan, or nil. It does not answer the
// plan.
func (s *Site) Check(plan *Plan) error { return s.check(plan) }

// WaitingFor returns the clients that have not answered an open plan, in the order of the roster.
// It returns nil if the plan is not open.
func (s *Server) WaitingFor(number int) []ClientID {
	r, ok := s.open[number]
	if !ok {
		return nil
	}
	return phase.Missing(r.Participants, r.Answered)
}
