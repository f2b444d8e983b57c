package pvi

import (
	"slices"

	"fedpvi/pvi/phase"
)

// A reader of a transcript has the opened sums, but no releases. All later messages of the
// server can be computed from the opened sums.

// Replay ends the round with the sum of o, an outcome from a transcript, and returns the outcome
// that the server computes. If it differs from o, the transcript is wrong.
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
