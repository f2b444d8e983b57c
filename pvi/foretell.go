package pvi

// What a client can tell of the next plan, before the server says it: it follows from the outcomes. Where
// floating-point arithmetic leads to a part of it, machines of another kind may make another plan.

// Foretell returns plan number n as it follows from all outcomes before it, which the site has followed. False if
// it does not: in an asynchronous study it depends on who answers first. Its λ is not a copy.
func (s *Site) Foretell(n int) (Plan, bool) {
	participants := s.protocol.asked(n)
	return Plan{s.protocol.digest, n, s.q.lambda, s.q.centre(), participants}, participants != nil
}
