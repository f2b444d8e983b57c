package pvi

import (
	"slices"

	"fedpvi/pvi/phase"
)

// A verifier has a transcript with the opened sums but without releases. The sums suffice to
// compute all further messages of the server.

// Replay ends a round with the sum of o, an outcome from a transcript, and returns the outcome that
// the server computes. If the two differ, the transcript is wrong.
func (s *Server) Replay(o *Outcome) (*Outcome, error) {
	open, ok := s.open[o.Number]
	if !ok {
		return nil, refuse("plan %d is not open", o.Number)
	}
	if err := phase.CheckReplay(o.Participants, open.Participants, o.Sum, s.protocol.messages.Size, s.protocol.messages.Range); err != nil {
		return nil, err
	}
	if err := s.protocol.checkReleases(o); err != nil {
		return nil, err
	}
	open.Answered = slices.Clone(o.Participants)
	if o.Sum != nil {
		open.Sum, open.Releases = slices.Clone(o.Sum), slices.Clone(o.Releases)
	}
	return s.finish(o.Number, open), nil
}
