package pvi

// A client can compute the next plan from the outcomes so far, before the coordinator sends it. If
// λ is computed in floating point, the last bits may differ between machines.

// Foretell returns plan number n, which it computes from all earlier outcomes. The site must have
// applied them. Foretell returns false for an asynchronous study, because there the plan depends on
// the order of answers. The plan's slice Lambda belongs to the site.
func (s *Site) Foretell(n int) (Plan, bool) {
	participants := s.protocol.participants(n)
	return Plan{s.protocol.digest, n, s.q.lambda, s.q.centre(), participants}, participants != nil
}

// ForetellOutcome returns the outcome of open plan n if the server accepts sum as the sum of the
// releases. The site must have applied all earlier outcomes.
func (s *Site) ForetellOutcome(n int, participants []ClientID, sum []int64) Outcome {
	return Outcome{
		Protocol: s.protocol.digest, Sequence: s.sequence + 1, Number: n, Verdict: Accepted,
		Centre: s.q.centre(), Participants: participants, Sum: sum,
	}
}
