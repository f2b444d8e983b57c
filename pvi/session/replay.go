package session

import (
	"bytes"

	"fedpvi/pvi"
	"fedpvi/pvi/wire"
)

// Replay follows an outcome that another server published, and returns whose answers are
// in it. It is [pvi.Refused] if this server, which has asked the same questions, would
// have said something else. With Next, whose plans are compared by the caller, it checks a
// transcript without a release.
func (s *Server) Replay(e Entry) (participants []pvi.ClientID, err error) {
	if !s.isOpen(e.Ask) {
		return nil, refuse("question %d is not open", e.Ask)
	}
	in, number := s.course.at(e.Ask)
	if e.Kind != kinds[in].outcome {
		return nil, refuse("question %d has an entry of kind %q, want %q", e.Ask, e.Kind, kinds[in].outcome)
	}
	var body []byte
	switch in {
	case scaling:
		participants, body, err = s.replayScale(number, e.Body)
	case rounds:
		participants, body, err = s.replay(number, e.Body)
	case last:
		participants, body, err = s.replayLast(e.Body)
	}
	if err != nil {
		return nil, err
	}
	again, err := s.outcome(e.Ask, body, nil)
	if err == nil && !bytes.Equal(again.Body, e.Body) {
		err = refuse("the outcome of question %d does not follow from what was opened", e.Ask)
	}
	return participants, err
}

func (s *Server) replayScale(number int, body []byte) ([]pvi.ClientID, []byte, error) {
	o, err := wire.ReadScaleOutcome(body, s.course.limits)
	if err != nil {
		return nil, nil, err
	}
	if o.Number != number {
		return nil, nil, misnumbered(number)
	}
	again, err := s.scale.Replay(o)
	return o.Participants, s.endOfPass(again), err
}

func (s *Server) replay(number int, body []byte) ([]pvi.ClientID, []byte, error) {
	o, err := wire.ReadOutcome(body, s.course.limits)
	if err != nil {
		return nil, nil, err
	}
	if o.Number != number {
		return nil, nil, misnumbered(number)
	}
	again, err := s.rounds.Replay(o)
	return o.Participants, s.endOfRound(again), err
}

func (s *Server) replayLast(body []byte) ([]pvi.ClientID, []byte, error) {
	o, err := wire.ReadOneStepOutcome(body, s.course.limits)
	if err != nil {
		return nil, nil, err
	}
	again, err := s.last.Replay(o)
	return o.Participants, s.endOfLast(again), err
}
