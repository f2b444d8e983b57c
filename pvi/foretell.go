package pvi

// The next plan is a function of the earlier outcomes, so a client can compute it before the
// coordinator sends it. If part of the plan is computed in floating-point arithmetic, machines
// of different kinds may compute slightly different plans.

// Foretell returns plan number n, computed from all outcomes before it. The site must have applied
// these outcomes. Foretell returns false for an asynchronous study, in which the plan depends on
// the order of answers. The slice Lambda of the plan belongs to the site.
func (s *Site) Foretell(n int) (Plan, bool) {
	participants := s.protocol.participants(n)
	return Plan{s.protocol.digest, n, s.q.lambda, s.q.centre(), participants}, participants != nil
}

// ForetellOutcome returns the outcome that open plan n has if the server accepts sum, the opened
// sum of the participants' releases. The site must have applied all outcomes before it. The server
// publishes another outcome if q is not proper after this sum.
func (s *Site) ForetellOutcome(n int, participants []ClientID, sum []int64) Outcome {
	return Outcome{
		Protocol: s.protocol.digest, Sequence: s.sequence + 1, Number: n, Verdict: Accepted,
		Centre: s.q.centre(), Participants: participants, Sum: sum,
	}
}
