package client

import (
	"encoding/json"
	"errors"
	"fmt"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi/page"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// ErrNoResult is the error for a study that has no result.
var ErrNoResult = errors.New("the study has no result")

// Posterior describes the posterior in the study's result. If the study was aborted, the error
// wraps [ErrNoResult].
func (e *Ending) Posterior(st *study.Study) (*session.Posterior, error) {
	if e.Aborted {
		return nil, fmt.Errorf("%w: it was aborted by %s (%s)", ErrNoResult, e.By, e.Reason)
	}
	var result session.Result
	if err := json.Unmarshal(e.Result, &result); err != nil {
		return nil, err
	}
	return session.Describe(st, &result)
}

// Posterior returns the result of a study. If the study has none, the error is a [UsageError] that
// wraps [ErrNoResult].
func (c *Client) Posterior(m *Member) (*session.Posterior, error) {
	ending, err := c.Ending(m)
	if err != nil {
		return nil, err
	}
	if ending == nil {
		return nil, &UsageError{fmt.Errorf("%w: it is not over yet; client run takes part until its end", ErrNoResult)}
	}
	p, err := ending.Posterior(m.Study)
	if errors.Is(err, ErrNoResult) {
		err = &UsageError{err}
	}
	return p, err
}

// Report returns the report on a study that has a result. It depends only on the study and its
// transcript, so two clients with the same transcript have the same report, whatever their records.
func (c *Client) Report(m *Member) (*page.Report, error) {
	p, err := c.Posterior(m)
	if err != nil {
		return nil, err
	}
	clients, _, err := c.clients(m)
	if err != nil {
		return nil, err
	}
	r, err := page.New(m.Study, clients, p)
	if err != nil {
		return nil, err
	}
	r.Checked, err = c.checked(m)
	return r, err
}

// checked lists the checks that this client made during a study that is over. It verifies the saved
// transcript envelopes again. If one is damaged, it returns an error.
func (c *Client) checked(m *Member) ([]string, error) {
	head, err := c.Head(m)
	if err != nil {
		return nil, err
	}
	entries, coordinator, err := c.entries(m)
	if err != nil {
		return nil, err
	}
	all := []string{
		fmt.Sprintf("A client of the study wrote this report. It has followed the signed transcript of %d entries, which are chained by hashes. Their coordinator has the fingerprint %v, and the last entry has the SHA-256 %s.", head.Entry, coordinator, head.Head),
		"The client computed all plans and the result again from the published sums.",
	}
	if len(entries) > 0 && entries[0].Commits {
		return append(all, "Every published release carries the signature of its client, and the releases add up to the sums.",
			"The consents of the clients are in the coordinator's bundle alone. The command client verify checks them there."), nil
	}
	return append(all, "The consents and the signed answers of the other clients are in the coordinator's bundle alone. The command client verify checks them there."), nil
}

// entries verifies the saved transcript envelopes. It returns the entries, and the coordinator's
// fingerprint from the first roster.
func (c *Client) entries(m *Member) ([]transcript.Entry, identity.Fingerprint, error) {
	x, err := c.Export(m)
	if err != nil {
		return nil, identity.Fingerprint{}, err
	}
	hub, err := roster.ParseEntry(x.Coordinator, m.Hash)
	if err != nil {
		return nil, identity.Fingerprint{}, c.damaged(err.Error())
	}
	coordinator := hub.Key.Fingerprint()
	own, err := x.Entries(m.Hash, coordinator)
	if err != nil {
		return nil, coordinator, c.damaged("the transcript: " + err.Error())
	}
	return own, coordinator, nil
}
