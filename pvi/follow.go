package pvi

import (
	"slices"
)

// What a client can tell of a plan or an outcome before it acts on it.

// Check returns the refusal with which Propose would answer a plan, and changes nothing.
func (s *Site) Check(plan *Plan) error { return s.check(plan) }

// Check returns the refusal with which Propose would answer a plan, and changes nothing.
func (s *ScaleSite) Check(plan *ScalePlan) error { return s.check(plan) }

// Check returns the refusal with which Propose would answer a plan, and changes nothing.
func (s *OneStepSite) Check(plan *OneStepPlan) error { return s.check(plan) }

// Lambda returns λ − λ_prior on the lattice. It is not a copy.
func (s *Site) Lambda() []Wide { return s.q.lambda }

// Posterior returns the natural parameters of q. It is not a copy.
func (s *Site) Posterior() []float64 { return s.q.natural() }

// Done reports whether the site has followed every outcome of the study's rounds.
func (s *Site) Done() bool { return s.sequence == s.protocol.Plans() }

// Settle checks the outcome of the last round, from which the posterior follows. One
// that contradicts what the client knows is [Refused]. It changes nothing.
func (s *OneStepSite) Settle(o *OneStepOutcome) error {
	p := s.protocol
	_, took := slices.BinarySearch(o.Participants, s.id)
	switch {
	case o.Round != s.digest:
		return refuse("the outcome is for last round %.16s, this is %.16s", o.Round, s.digest)
	case !p.selection(o.Participants):
		return refuse("the outcome of the last round counts clients that are not in the roster, or not in order")
	case took && !s.answered:
		return refuse("the outcome of the last round counts an answer that client %q did not give", s.id)
	case !s.knows(o.Point):
		return refuse("the point of the last round does not follow from the outcomes that client %q has seen", s.id)
	}
	switch o.Verdict {
	case Void:
		if o.Gradient != nil || o.Curvature != nil {
			return refuse("the outcome of the last round is void and has sums")
		}
		return nil
	case Accepted:
		if len(o.Participants) < p.minClients {
			return refuse("the sums of the last round were opened for %d answers, fewer than the %d for which noise shares were made", len(o.Participants), p.minClients)
		}
		return p.checkOneStep(o.Gradient, o.Curvature, len(o.Participants))
	}
	return refuse("the verdict on the last round is %q", o.Verdict)
}

// Columns returns what is known so far. It is not a copy.
func (s *ScaleSite) Columns() []ColumnScale { return s.scale.columns }

// Point returns θ̃, the mean of the final q. It is not a copy.
func (s *OneStepServer) Point() []float64 { return s.point }

// WaitingFor returns the clients whose answer to an open plan is missing, in order; nil
// if it is not open.
func (s *Server) WaitingFor(number int) []ClientID {
	r, ok := s.open[number]
	if !ok {
		return nil
	}
	return missing(r.Participants, r.Answered)
}

// Followed returns the number of outcomes that the site has followed.
func (s *Site) Followed() int { return s.sequence }

// Followed returns the number of passes whose outcome the site has followed.
func (s *ScaleSite) Followed() int { return s.scale.passes }

// Outcomes returns the number of passes that have an outcome.
func (s *ScaleServer) Outcomes() int { return s.scale.passes }
