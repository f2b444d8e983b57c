package pvi

// A client can compute the next plan from the earlier outcomes, before the coordinator sends it. If
// λ is computed in floating point, machines may disagree about the last bits.

// Foretell returns plan number n, computed from all outcomes before it, which the site must have
// applied. It returns false for an asynchronous study, where the plan depends on the order of
// answers. The slice Lambda of the plan belongs to the site.
func (s *Site) Foretell(n int) (Plan, bool) {
	participants := s.protocol.participants(n)
	return Plan{s.protocol.digest, n, s.q.lambda, s.q.centre(), participants}, participants != nil
}

// ForetellOutcome returns the outcome of open plan n if the server accepts sum, the opened sum of
// the releases. The site must have applied all earlier outcomes.
func (s *Site) ForetellOutcome(n int, participants []ClientID, sum []int64) Outcome {
	return Outcome{
		Protocol: s.protocol.digest, Sequence: s.sequence + 1, Number: n, Verdict: Accepted,
		Centre: s.q.centre(), Participants: participants, Sum: sum,
	}
}
