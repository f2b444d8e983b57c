package session

import (
	"errors"

	"fedpvi/dpmech"
	"fedpvi/internal/guard"
	"fedpvi/pvi"
)

// An Answer is a client's answer to a plan. It comes with its cost, and with the hashes of the
// protocol and of the state that the plan was made from.
type Answer struct {
	Plan    int     // number of the plan, counted over all phases
	Release []byte  // encoded release ([fedpvi/pvi/wire]); nil after an error or with secure aggregation
	Vector  []int64 // release with secure aggregation, at most VectorSize elements; otherwise nil
	Spent   Spent
	// Commitment is the hash of the release, which the client signs. It is zero if clients do not sign
	// hashes ([Site.Commits]).
	Commitment [32]byte

	Digest [32]byte // [Site.Digest] at the time of the answer
	Model  [32]byte // [Server.ModelOf] for this plan
}

// errNothingAsked is the error of a client that is told to answer while no plan is pending.
var errNothingAsked = &pvi.Refused{Reason: "no plan names this client now"}

// Quote returns the cost of answering the pending plan, before the answer is made. If the answer
// fails, it may cost less.
func (s *Site) Quote() (Spent, error) {
	if s.pending == nil {
		return nil, errNothingAsked
	}
	return s.phaseOf(s.pending).quote()
}

// phaseOf returns the phase of e, which must have begun.
func (s *Site) phaseOf(e *Entry) sitePhase {
	place, _ := s.course.at(e.Plan)
	return s.phases[place]
}

// Answer answers the pending plan, with noise from src.
//
// The caller must save the state and the charge before it sends the first byte of the release.
// There is only one answer to a plan: if the release is lost, the same bytes must be sent again. If
// the error is a [pvi.Refused], nothing has changed. After any other error there is no release.
// Spent is then the cost of the noise that was drawn, and must be charged. If the phase panics,
// Spent is the largest possible cost ([Site.Quote]). Panics in the computation for a single record
// do not get this far: that record, or the whole sum of the client, counts as zero.
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

// Model returns the hash of the state that the pending plan was made from, like [Server.ModelOf].
// It returns zero if no plan is pending.
func (s *Site) Model() (model [32]byte) {
	if s.pending == nil {
		return model
	}
	return s.phaseOf(s.pending).model(s.pending.Body)
}
