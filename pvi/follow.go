package pvi

import (
	"fedpvi/pvi/method"
	"fedpvi/pvi/phase"
)

// The methods of Site in this file let a client check a plan or an outcome before it acts on them.

// Check returns the error that Propose would return for the plan, or nil. It does not answer the
// plan.
func (s *Site) Check(plan *Plan) error { return s.check(plan) }

// Lambda returns λ − λ_prior on the lattice. The slice is not a copy.
func (s *Site) Lambda() []Wide { return s.q.lambda }

// Posterior returns the natural parameters of q. The slice is not a copy.
func (s *Site) Posterior() []float64 { return s.q.natural() }

// Remarks returns remarks about the posterior, as [Server.Remarks] does.
func (s *Site) Remarks() *method.Remarks { return s.q.remarks() }

// Done reports whether the site has applied the outcomes of all the study's rounds.
func (s *Site) Done() bool { return s.sequence == s.protocol.Plans() }

// WaitingFor returns the clients that have not answered an open plan, in the order of the roster.
// It returns nil if the plan is not open.
func (s *Server) WaitingFor(number int) []ClientID {
	r, ok := s.open[number]
	if !ok {
		return nil
	}
	return phase.Missing(r.Participants, r.Answered)
}

// Followed returns the number of outcomes that the site has applied.
func (s *Site) Followed() int { return s.sequence }
