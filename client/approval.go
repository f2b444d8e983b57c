package client

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
	"fedpvi/crypto/transcript"
)

// An approval records that the data holder consented to a study. It applies only to the study
// document and the policy that have these hashes, byte for byte.
type approval struct {
	Study  ledger.Hash `json:"study"`
	Policy ledger.Hash `json:"policy"`
	Terms
	Roster *ledger.Hash `json:"roster,omitempty"` // hash of the roster at the time of approval; nil if it was not known
	Time   time.Time    `json:"time"`
}

// Approve records that the data holder consents to a study. digest is the SHA-256 of the study
// document, or at least its first 12 digits. If the data set has no budget, Approve creates it. It
// refuses a study that costs more than what is left of the budget, or that would keep this machine
// busy longer than the policy allows.
func (c *Client) Approve(m *Member, p *Policy, dataset, digest string) (Terms, error) {
	if len(digest) < 12 || len(digest) > len(m.Hash.String()) || m.Hash.String()[:len(digest)] != digest {
		return Terms{}, &UsageError{fmt.Errorf("%q is not the digest of this study, which is %s: run client review to read the study", digest, m.Hash)}
	}
	if err := errors.Join(c.halted(), c.leftAlready(m)); err != nil {
		return Terms{}, err
	}
	roster, known, err := c.clients(m)
	if err != nil {
		return Terms{}, err
	}
	if !known {
		roster = pretended(m.Study, p.MinParticipants)
	}
	strangers, err := c.strangers(m, p, len(roster))
	if err != nil {
		return Terms{}, err
	}
	seen, err := c.seenRoster(m, p)
	if err != nil {
		return Terms{}, err
	}
	t, d, err := c.terms(m, p, dataset, roster, strangers)
	if err != nil {
		return t, err
	}
	if err := c.mayTake(p, m.Study, roster); err != nil {
		return t, err
	}
	if err := c.correct(t.Dataset); err != nil {
		return t, fmt.Errorf("correcting earlier charges of the data set %s: %w", t.Dataset, err)
	}
	whole, err := t.whole(m.Study, roster)
	if err != nil {
		return t, err
	}
	cost := whole
	if c.begun(m, t.Dataset) {
		// Do not count the cost of the whole study again. The earlier answers are already in the
		// ledger, and each later one is checked when it is charged.
		cost = accountant.Composed{}
	}
	if _, err := c.quote(t, d, m.Study, cost); err != nil {
		return t, fmt.Errorf("the study does not fit into the budget of the data set %s: %w", t.Dataset, err)
	}
	b, made, err := c.budget(t, d, m.Study, whole)
	if err != nil {
		return t, err
	}
	if !made {
		if err := c.store.AddBudget(t.Dataset, b, c.now()); err != nil {
			return t, err
		}
	}
	return t, c.put(m.Hash, approvalPart, approval{Study: m.Hash, Policy: p.Hash, Terms: t, Roster: seen, Time: c.now().UTC().Truncate(time.Second)})
}

// seenRoster returns the hash of the roster that the client has received, or nil. If the policy
// does not allow one of the clients, it returns an error.
func (c *Client) seenRoster(m *Member, p *Policy) (*ledger.Hash, error) {
	members, err := c.roster(m)
	if err != nil || members == nil {
		return nil, err
	}
	hash := ledger.Hash(members.Hash())
	return &hash, p.knows(members, m.Name)
}

// begun reports whether this study has been charged to the data set.
func (c *Client) begun(m *Member, dataset string) bool {
	a, _ := c.store.Account(dataset)
	return slices.ContainsFunc(a.Studies, func(s ledger.StudySpent) bool { return s.Study == m.Hash })
}

// approved returns the terms under which the study was approved. If there is no valid approval, it
// returns a [*Refusal].
func (c *Client) approved(m *Member, p *Policy) (Terms, error) {
	if err := c.leftAlready(m); err != nil {
		return Terms{}, err
	}
	ok, err := c.has(m.Hash, approvalPart)
	if err != nil {
		return Terms{}, err
	}
	const todo = ": run client review, then client approve"
	if !ok {
		return Terms{}, &Refusal{"the study " + m.Study.Name + " is not approved" + todo}
	}
	var a approval
	if err := c.get(m.Hash, approvalPart, &a); err != nil {
		return Terms{}, err
	}
	switch {
	case a.Study != m.Hash:
		return Terms{}, &Refusal{"the approval is for another study" + todo}
	case a.Policy != p.Hash:
		return Terms{}, &Refusal{"the policy has changed since the study was approved" + todo}
	case !p.Allows(m.Coordinator):
		return Terms{}, &Refusal{"the policy does not allow the coordinator" + todo}
	}
	return a.Terms, nil
}

// Standing describes whether a study is over, left or approved. If there is no policy, p is nil.
func (c *Client) Standing(m *Member, p *Policy) (string, error) {
	e, err := c.Ending(m)
	switch {
	case err != nil:
		return "", err
	case e != nil && e.Aborted:
		return "aborted by " + e.By + ": " + e.Reason, nil
	case e != nil:
		return "over", nil
	}
	if left, err := c.has(m.Hash, leftPart); left || err != nil {
		return Left, err
	}
	if p != nil {
		if _, ok := c.Terms(m, p); ok {
			return Approved, nil
		}
	}
	return Undecided, nil
}

// These are the values that [Client.Standing] returns for a study that is not over.
const (
	Approved  = "approved"
	Undecided = "not approved" // the data holder can still approve or leave the study
	Left      = "left"
)

func (c *Client) leftAlready(m *Member) error {
	left, err := c.has(m.Hash, leftPart)
	if err == nil && left {
		return &Refusal{"the study " + m.Study.Name + " was left: a client that has left cannot come back"}
	}
	return err
}

func (c *Client) consent(m *Member) ([]byte, error) {
	sequence, head := c.store.Head()
	return transcript.SignApproval(m.newest().identity, m.Hash, m.coordinator().Key.Fingerprint(), sequence, head)
}

// Terms returns the terms under which the data holder approved the study. If there is no approval
// under this policy, it returns false.
func (c *Client) Terms(m *Member, p *Policy) (Terms, bool) {
	t, err := c.approved(m, p)
	return t, err == nil
}
