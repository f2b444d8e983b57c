package client

import (
	"context"
	"fmt"
	"io"
	"maps"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/transport"
)

// checkAnswers checks the clients' signatures in the body of an outcome, and returns the rest of
// the body. If the releases are too long for the outcome, it fetches them one by one and adds them
// up. Other bodies are returned unchanged.
func (a *participant) checkAnswers(ctx context.Context, link Link, e transcript.Entry, body []byte, next *position) ([]byte, error) {
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
	releases, err := a.chain.VerifyAnswers(e.Ask, a.at.Open[e.Ask], names, counted.Commitments, answered.Envelopes)
	if err != nil {
		return nil, &Refusal{err.Error()}
	}
	for i, r := range releases {
		if names[i] != a.member.Name {
			continue
		}
		// This client's release names an entry of its ledger. If the entry is missing, the ledger
		// was restored from an earlier copy. This check works even if the coordinator withholds
		// entries.
		if err := a.client.owns(r.Header.LedgerSeq, r.Header.LedgerHead, fmt.Sprintf("the answer of this client in the outcome of plan %d", e.Ask)); err != nil {
			return nil, err
		}
	}
	if a.chain.Fetches() && counted.Fetched() {
		if err := counted.AddUp(transcript.Commitments(releases), a.fetch(ctx, link, e.Ask)); err != nil {
			return nil, err
		}
	}
	delete(next.Open, e.Ask)
	return answered.Outcome, nil
}

// fetch returns a function that fetches a plan's releases from the coordinator.
func (a *participant) fetch(ctx context.Context, link Link, plan uint64) pvi.Fetch {
	return func(of pvi.ClientID, hash pvi.Digest, size int64, w io.Writer) error {
		err := link.Release(ctx, plan, hash, size, w)
		if err == nil || ctx.Err() != nil || as[*transport.Unreachable](err) {
			return err
		}
		return &Refusal{fmt.Sprintf("the coordinator does not deliver the release of %s for plan %d, so the sum of the plan cannot be checked: %v", of, plan, err)}
	}
}
