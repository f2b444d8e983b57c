package session

import (
	"errors"

	"fedpvi/dpmech"
	"fedpvi/internal/guard"
	"fedpvi/pvi"
)

// An Answer is a client's answer to a plan. Besides the release it has the cost of the answer and
// two hashes, of the protocol and of the state from which the plan was made.
type Answer struct {
	Plan    int     // number of the plan over all phases
	Release []byte  // encoded release, a message of [fedpvi/pvi/wire]; nil after an error, and with secure aggregation
	Vector  []int64 // elements of the release with secure aggregation, at most VectorSize; otherwise nil
	Spent   Spent
	// If clients commit to their releases ([Site.Commits]), Commitment is the hash of the release,
	// which the client signs. Otherwise it is zero.
	Commitment [32]byte

	Digest [32]byte // result of [Site.Digest] when the answer was computed
	Model  [32]byte // result of [Server.ModelOf] for the plan
}

// errNothingAsked is the refusal to answer if no plan is pending.
var errNothingAsked = &pvi.Refused{Reason: "no plan names this client now"}

// Quote returns the cost of the answer to the pending plan before the answer is computed. If the
// answer ends in an error, its cost may be smaller than the quote.
func (s *Site) Quote() (Spent, error) {
	if s.pending == nil {
		return nil, errNothingAsked
	}
	return s.phaseOf(s.pending).quote()
}

// phaseOf returns the phase of entry e, which must have begun.
func (s *Site) phaseOf(e *Entry) sitePhase {
	place, _ := s.course.at(e.Plan)
	return s.phases[place]
}

// Answer answers the pending plan, with noise from src.
//
// Answer changes the state. The caller must save the state and the charge before it sends a byte of
// the release. If the release is lost, the caller must send the same bytes again, because a plan
// has only one answer. If the error is a [pvi.Refused], nothing changes. After any other error
// there is no release, and Spent is the cost of the noise that was drawn. This cost must be
// charged. If the phase panics, Answer returns an error, and Spent is the largest possible cost of
// the answer ([Site.Quote]). A panic in the computation for a single record does not reach Answer.
// The record, or the client's whole sum, then counts as zero, so that the release is at least
// noise.
func (s *Site) Answer(src *dpmech.Stream) (Answer, error) {
	quote, err := s.Quote()
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Plan: s.pending.Plan, Spent: quote, Digest: s.Digest()}
	fault := guard.Run(func() { err = s.phaseOf(s.pending).answer(&a, s.pending.Body, src) })
	if fault != nil {
		a.Release, a.Vector, a.Spent, err = nil, nil, quote, fault
	}
	var refused *pvi.Refused
	if errors.As(err, &refused) {
		return Answer{}, err
	}
	s.pending = nil
	if err == nil && s.Commits() {
		a.Commitment, err = s.course.commitment(a.Plan, a.Release)
	}
	return a, err
}

// Model returns the hash of the state from which the pending plan was made, like
// [Server.ModelOf]. It returns zero if no plan is pending.
func (s *Site) Model() (model [32]byte) {
	if s.pending == nil {
		return model
	}
	return s.phaseOf(s.pending).model(s.pending.Body)
}
