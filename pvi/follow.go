package pvi

import "fedpvi/pvi/phase"

// Methods with which a client checks a plan or an outcome before it acts on it.

// Check returns the error if Propose would refuse the plan, and nil otherwise. It changes
// nothing.
func (s *Site) Check(plan *Plan) error { return s.check(plan) }

// Lambda returns λ − λ_prior on the lattice. It is not a copy.
func (s *Site) Lambda() []Wide { return s.q.lambda }

// Posterior returns the natural parameters of q. It is not a copy.
func (s *Site) Posterior() []float64 { return s.q.natural() }

// Done reports whether the site has followed every outcome of the study's rounds.
func (s *Site) Done() bool { return s.sequence == s.protocol.Plans() }

// WaitingFor returns the clients whose answer to an open plan is missing, in order. It returns
// nil if the plan is not open.
func (s *Server) WaitingFor(number int) []ClientID {
	r, ok := s.open[number]
	if !ok {
		return nil
	}
	return phase.Missing(r.Participants, r.Answered)
}

// Followed returns the number of outcomes that the site has followed.
func (s *Site) Followed() int { return s.sequence }
