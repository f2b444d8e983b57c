package pvi

import "slices"

// Who reads a transcript has the sums that were opened and no release. From them follows
// everything that a server said after.

// Replay ends the round of an outcome with the sum that is in it, and returns the outcome
// that this server says then. Another one than o shows that o does not follow.
func (s *Server) Replay(o *Outcome) (*Outcome, error) {
	open, ok := s.open[o.Number]
	if !ok {
		return nil, refuse("plan %d is not open", o.Number)
	}
	if err := replayable(o.Participants, open.Participants, o.Sum, s.protocol.messageSize(), s.protocol.limit); err != nil {
		return nil, err
	}
	open.Answered = slices.Clone(o.Participants)
	if o.Sum != nil {
		open.Sum = slices.Clone(o.Sum)
	}
	return s.finish(o.Number, open), nil
}

// Replay does for a pass what [Server.Replay] does for a round.
func (s *ScaleServer) Replay(o *ScaleOutcome) (*ScaleOutcome, error) {
	if s.open == nil || o.Number != s.scale.passes+1 {
		return nil, refuse("pass %d is not open", o.Number)
	}
	step := s.scaling.step(o.Number)
	if err := replayable(o.Participants, s.scaling.roster, o.Sum, step.size, step.limit); err != nil {
		return nil, err
	}
	s.open.Answered = slices.Clone(o.Participants)
	if o.Sum != nil {
		s.open.Sum = slices.Clone(o.Sum)
	}
	return s.finish(), nil
}

// Replay does for the last round what [Server.Replay] does for the others.
func (s *OneStepServer) Replay(o *OneStepOutcome) (*OneStepOutcome, error) {
	p := s.protocol
	if !s.open {
		return nil, refuse("the last round is not open")
	}
	if err := replayable(o.Participants, p.roster, nil, 0, 0); err != nil {
		return nil, err
	}
	if o.Gradient != nil || o.Curvature != nil {
		if err := p.checkOneStep(o.Gradient, o.Curvature, len(o.Participants)); err != nil {
			return nil, err
		}
		s.gradient, s.curvature = slices.Clone(o.Gradient), slices.Clone(o.Curvature)
	}
	s.answered = slices.Clone(o.Participants)
	return s.finish(), nil
}

// replayable refuses participants that were not asked, and a sum that their answers
// cannot yield, each element of which is at most limit in one answer.
func replayable(participants, asked []ClientID, sum []int64, size int, limit int64) error {
	for i, id := range participants {
		if _, ok := slices.BinarySearch(asked, id); !ok || i > 0 && participants[i-1] >= id {
			return refuse("an outcome counts clients that were not asked, or not in order")
		}
	}
	if sum == nil {
		return nil
	}
	if len(sum) != size {
		return refuse("a sum has %d elements, want %d", len(sum), size)
	}
	most := int64(len(participants)) * limit
	for i, n := range sum {
		if n > most || n < -most {
			return refuse("element %d of a sum is beyond what %d answers can yield", i+1, len(participants))
		}
	}
	return nil
}
