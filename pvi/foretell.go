package pvi

// The next plan is a function of the outcomes, so that a client can compute the plan before the
// coordinator sends it. If part of the plan is computed in floating-point arithmetic, machines
// of different kinds may compute slightly different plans.

// Foretell returns plan number n as it follows from all outcomes before it, which the site has followed. It returns
// false for an asynchronous study, in which the plan depends on the order of answers. Lambda of the plan is not a copy.
func (s *Site) Foretell(n int) (Plan, bool) {
	participants := s.protocol.participants(n)
	return Plan{s.protocol.digest, n, s.q.lambda, s.q.centre(), participants}, participants != nil
}
