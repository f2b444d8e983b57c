package pvi

import (
	"slices"

	"fedpvi/pvi/phase"
)

// A reader of a transcript has the opened sums and no release. Everything that a server sends
// after an outcome can be computed from the opened sums.

// Replay ends the round of an outcome with the sum that is in it, and returns the outcome
// that follows. If it differs from o, then o does not follow.
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
