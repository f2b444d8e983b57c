package session

import (
	"errors"

	"fedpvi/dpmech"
	"fedpvi/pvi"
	"fedpvi/pvi/lastround"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/wire"
)

// An Answer is what a client sends for a question, and what is said beside it.
type Answer struct {
	Ask     int
	Release []byte // a message of [fedpvi/pvi/wire]; nil if there was an error
	Spent   Spent

	Digest [32]byte // as [Site.Digest] was when it was computed
	Model  [32]byte // as [Server.ModelOf] says it for the question
}

// errNothingAsked says that there is no question to answer.
var errNothingAsked = &pvi.Refused{Reason: "nothing is asked of this client now"}

// Quote returns what the answer to the pending question will cost at most, before any
// noise is drawn: what it costs unless it ends in an error.
func (s *Site) Quote() (Spent, error) {
	if s.pending == nil {
		return nil, errNothingAsked
	}
	switch in, _ := s.course.at(s.pending.Ask); in {
	case scaling:
		if s.scale.Passes() > 0 {
			return nil, nil // all passes were charged with the first
		}
		return s.course.costOfScale()
	case rounds:
		before := s.rounds.Releases()
		return s.course.costOfRounds(before, before+s.rounds.Ahead())
	}
	return s.course.costOfLast()
}

// Answer answers the pending question, with noise from src.
//
// The state has changed then: the caller must save it, and the charge, before a byte of
// the release leaves the house, and must send the same bytes again rather than ask for
// another answer, which there is not. A [pvi.Refused] changes nothing. With any other
// error there is no release, and Spent is what was drawn all the same and has to be
// charged.
func (s *Site) Answer(src *dpmech.Stream) (Answer, error) {
	quote, err := s.Quote()
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Ask: s.pending.Ask, Spent: quote, Digest: s.Digest()}
	switch in, _ := s.course.at(a.Ask); in {
	case scaling:
		err = s.answerPass(&a, src)
	case rounds:
		err = s.answerRound(&a, src)
	case last:
		err = s.answerLast(&a, src)
	}
	var refused *pvi.Refused
	if errors.As(err, &refused) {
		return Answer{}, err
	}
	s.pending = nil
	return a, err
}

func (s *Site) answerPass(a *Answer, src *dpmech.Stream) error {
	plan, err := wire.ReadScalePlan(s.pending.Body, s.course.limits)
	if err != nil {
		return err
	}
	a.Model = modelOfScale(plan.Scaling, plan.Bounds)
	var r scale.Release
	if err := s.scale.Propose(&r, plan, src); err != nil {
		return err
	}
	a.Release = wire.AppendScaleRelease(nil, &r)
	return nil
}

func (s *Site) answerRound(a *Answer, src *dpmech.Stream) error {
	plan, err := wire.ReadPlan(s.pending.Body, s.course.limits)
	if err != nil {
		return err
	}
	a.Model = modelOfLambda(plan.Protocol, plan.Lambda)
	var r pvi.Release
	before := s.rounds.Releases()
	if err := s.rounds.Propose(&r, plan, src); err != nil {
		return s.short(a, before, err)
	}
	a.Release = wire.AppendRelease(nil, &r)
	return nil
}

// short charges for an answer that ended in an error no more than was drawn.
func (s *Site) short(a *Answer, before int, err error) error {
	spent, failed := s.course.costOfRounds(before, s.rounds.Releases())
	if failed == nil {
		a.Spent = spent
	}
	return err
}

func (s *Site) answerLast(a *Answer, src *dpmech.Stream) error {
	plan, err := wire.ReadOneStepPlan(s.pending.Body, s.course.limits)
	if err != nil {
		return err
	}
	a.Model = modelOfPoint(s.Digest(), plan.Point)
	var r lastround.Release
	if err := s.last.Propose(&r, plan, src); err != nil {
		return err
	}
	a.Release = wire.AppendOneStepRelease(nil, &r)
	return nil
}

// Model returns the hash of where the study stands for the pending question, as
// [Server.ModelOf] says it; zero if nothing is asked.
func (s *Site) Model() (model [32]byte) {
	if s.pending == nil {
		return model
	}
	l := s.course.limits
	switch in, _ := s.course.at(s.pending.Ask); in {
	case scaling:
		if plan, err := wire.ReadScalePlan(s.pending.Body, l); err == nil {
			model = modelOfScale(plan.Scaling, plan.Bounds)
		}
	case rounds:
		if plan, err := wire.ReadPlan(s.pending.Body, l); err == nil {
			model = modelOfLambda(plan.Protocol, plan.Lambda)
		}
	case last:
		if plan, err := wire.ReadOneStepPlan(s.pending.Body, l); err == nil {
			model = modelOfPoint(s.Digest(), plan.Point)
		}
	}
	return model
}
