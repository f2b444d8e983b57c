package client

import (
	"maps"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi/session"
)

// checkAnswers returns the message of the study's phase in the body of a plan or an outcome. In a
// study with commitments it checks that the releases in an outcome are those that the clients have
// signed.
func (a *participant) checkAnswers(e transcript.Entry, body []byte, next *position) ([]byte, error) {
	if !a.chain.Commits() {
		return body, nil
	}
	next.Open = maps.Clone(a.at.Open)
	if !e.Kind.Outcome() {
		if next.Open == nil {
			next.Open = map[uint64][32]byte{}
		}
		next.Open[e.Ask] = e.Model
		return body, nil
	}
	answered, err := transcript.ParseAnswered(body)
	if err != nil {
		return nil, err
	}
	counted, err := a.site.Counted(session.Entry{Kind: session.Kind(e.Kind), Plan: int(e.Ask), Body: answered.Outcome})
	if err != nil {
		return nil, err
	}
	names := make([]identity.Name, len(counted.Clients))
	for i, id := range counted.Clients {
		names[i] = identity.Name(id)
	}
	if _, err := a.chain.VerifyAnswers(e.Ask, a.at.Open[e.Ask], names, counted.Commitments, answered.Envelopes); err != nil {
		return nil, &Refusal{err.Error()}
	}
	delete(next.Open, e.Ask)
	return answered.Outcome, nil
}
