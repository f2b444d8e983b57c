package pvi

import (
	"slices"

	"fedpvi/pvi/phase"
)

// Who reads a transcript has the sums that were opened and no release. From them follows
// everything that a server said after.

// Replay ends the round of an outcome with the sum that is in it, and returns the outcome
// that this server says then. Another one than o shows that o does not follow.
func (s *Server) Replay(o *Outcome) (*Outcome, error) {
	open, ok := s.open[o.Number]
	if !ok {
		return nil, refuse("plan %d is not open", o.Number)
	}
	if err := phase.CheckReplay(o.Participants, open.Participants, o.Sum, s.protocol.messages.Size, s.protocol.messages.Limit); err != nil {
		return nil, err
	}
	open.Answered = slices.Clone(o.Participants)
	if o.Sum != nil {
		open.Sum = slices.Clone(o.Sum)
	}
	return s.finish(o.Number, open), nil
}
