package session

import (
	"slices"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// With secure aggregation, nobody can read a single release. Each client answers with a vector, and
// the coordinator gets only the sum of these vectors. They are all padded to the same length, so
// that the length does not reveal the phase.

// A Sum is the sum that an outcome makes public.
type Sum struct {
	Participants []pvi.ClientID // in the order of the roster
	Elements     []int64        // padded to VectorSize; nil if the outcome is void
	Releases     []int64        // one after the other; may be nil
}

// Equal compares the elements and the participants, but not the Releases.
func (s Sum) Equal(o Sum) bool {
	return slices.Equal(s.Participants, o.Participants) && slices.Equal(s.Elements, o.Elements) && (s.Elements == nil) == (o.Elements == nil)
}

func (c *course) secure() bool { return c.study.Federation.Aggregation == study.Secure }

// CollectSum ends a plan of a study with secure aggregation and returns the outcome. sum is the
// opened sum of the vectors, with VectorSize elements. If honest clients could not have produced
// it, the error is [pvi.Refused] and nothing changes. The caller should then close the plan.
func (s *Server) CollectSum(plan int, sum Sum) (*Entry, error) {
	p, number, err := s.opened(plan)
	if err != nil {
		return nil, err
	}
	place, _ := s.course.at(plan)
	size := s.course.phases[place].numbers(number)
	if len(sum.Elements) != s.VectorSize() {
		return nil, refuse("the sum of plan %d has %d elements, want %d", plan, len(sum.Elements), s.VectorSize())
	}
	if slices.ContainsFunc(sum.Elements[size:], func(n int64) bool { return n != 0 }) {
		return nil, refuse("the sum of plan %d is not zero after its %d elements", plan, size)
	}
	if len(sum.Participants) < p.fewest() {
		return nil, refuse("plan %d has a sum of %d vectors, fewer than %d", plan, len(sum.Participants), p.fewest())
	}
	body, err := p.collectSum(number, Sum{Participants: sum.Participants, Elements: sum.Elements[:size]})
	return s.outcome(plan, body, err)
}

func (c *course) unpadded(e Entry) (Sum, error) {
	place, number := c.at(e.Plan)
	p := c.phases[place]
	if _, outcome := p.kinds(); e.Plan < 1 || e.Plan > c.plans() || e.Kind != outcome {
		return Sum{}, refuse("plan %d has an entry of kind %q, want %q", e.Plan, e.Kind, outcome)
	}
	sum, err := p.sumOf(e.Body)
	if err == nil && sum.Elements != nil && len(sum.Elements) != p.numbers(number) {
		err = refuse("the sum of plan %d has %d elements, want %d", e.Plan, len(sum.Elements), p.numbers(number))
	}
	return sum, err
}
