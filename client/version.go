package client

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/internal/audit"
)

// first returns an empty chain with which the first transcript entry can be verified.
func (a *participant) first(envelope []byte) transcript.Chain {
	hub := a.member.coordinator()
	if claims, err := signed.Claims(envelope); err == nil {
		if e, _, err := a.member.coordinatorOf(claims.Sender); err == nil {
			hub = e
		}
	}
	return transcript.Begin(a.member.Hash, hub.Key)
}

// version returns the present version of the roster. If this is the first version, it returns nil.
func (c *Client) version(m *Member) (*roster.Roster, error) {
	b, changed, err := c.store.Part(m.Hash, versionPart)
	if err != nil || !changed {
		return nil, err
	}
	members, err := roster.Parse(b, m.Hash)
	if err != nil {
		return nil, c.damaged("the version of the roster: " + err.Error())
	}
	return members, nil
}

// signedBy reports whether an envelope was signed by this client, with its present identity or an
// earlier one.
func (c *Client) signedBy(envelope []byte, claims signed.Header) (bool, error) {
	all, err := c.identities()
	for _, i := range all {
		if _, err := signed.Verify(envelope, i.Public(), claims); err == nil {
			return true, nil
		}
	}
	return false, err
}

// newVersion applies an entry that changes the roster. The chain has already verified it.
func (a *participant) newVersion(chain transcript.Chain, body []byte) error {
	m := a.member
	if a.site == nil || a.site.Open() || a.sums != nil && a.sums.Step() != sums.Idle {
		return &Refusal{"the coordinator has changed the roster while a plan is open"}
	}
	change, err := roster.ParseChange(body)
	if err != nil {
		return err
	}
	for _, r := range change.Revoked {
		if r.Name == m.Name {
			return &Refusal{"the keys of this client were revoked: " + r.Reason}
		}
		a.client.log.Warn("the keys of a client were revoked: it no longer takes part", "client", r.Name, "reason", r.Reason)
		a.client.note(m, audit.Exclusion, slog.LevelWarn, slog.String("client", string(r.Name)), slog.String("reason", r.Reason))
	}
	if len(change.Revoked) > 0 {
		a.site.Resume()
	}
	for _, r := range change.Renewed {
		a.client.log.Warn("a party has new keys, signed with its previous keys", "party", r.Entry.Name, "key", r.Entry.Key.Fingerprint())
		a.client.noteKeys(m, r.Entry)
		if r.Entry.Role == identity.Coordinator {
			if err := m.learnNext(r); err != nil {
				return err
			}
		}
	}
	own, _ := chain.Members().Named(m.Name)
	if err := m.promote(own); err != nil {
		return err
	}
	a.keyed, a.said = false, false
	return a.beginSums(chain)
}

// learnNext adds a renewal that comes with a version of the roster. It checks it as learn does.
func (m *Member) learnNext(r roster.Renewal) error {
	e, err := roster.ParseEntry(m.Entry, m.Hash)
	if err != nil {
		return err
	}
	for i, b := range m.Renewals {
		known, err := roster.ParseRenewal(b, m.Hash)
		switch {
		case err != nil:
			return err
		case bytes.Equal(b, r.Bytes()):
			return nil
		case r.Check(m.Hash, e) == nil:
			// Here, the coordinator has renewed the entry e in two different ways, so learn returns
			// an error.
			return m.learn(append(slices.Clone(m.Renewals[:i]), r.Bytes()))
		}
		e = known.Entry
	}
	return m.learn(append(slices.Clone(m.Renewals), r.Bytes()))
}

// consents checks that the data holder has consented to the clients in a roster, either by the
// policy or by approving this roster.
func (a *participant) consents(members *roster.Roster) error {
	if err := a.policy.knows(members, a.member.Name); err != nil {
		return a.refuseRoster(err.Error(), members)
	}
	if !a.policy.ReviewRoster {
		return nil
	}
	var approved approval
	if err := a.client.get(a.member.Hash, approvalPart, &approved); err != nil {
		return err
	}
	if approved.Roster == nil || *approved.Roster != members.Hash() {
		return a.refuseRoster("the clients of the study are now known: run client review and client roster, then client approve (participants.review in the policy)", members)
	}
	return nil
}

// refuseRoster returns a Refusal with the reason why. It saves the roster, so that a review can
// show it and an approval can use its terms.
func (a *participant) refuseRoster(why string, members *roster.Roster) error {
	return errors.Join(&Refusal{why}, a.client.put(a.member.Hash, rosterPart, saved{Body: members.Bytes()}))
}

// knows returns an error if the policy lists the known clients and the roster has a client that is
// not on the list, except own.
func (p *Policy) knows(members *roster.Roster, own identity.Name) error {
	if p.Known == nil {
		return nil
	}
	for _, e := range members.Entries {
		if f := e.Key.Fingerprint(); e.Role == identity.Client && e.Name != own && !slices.Contains(p.Known, f) {
			return &Refusal{fmt.Sprintf("the roster has %s, which the policy does not know: if its people confirm the fingerprint %s over another channel, add it to participants.known in %s", e.Name, f, PolicyFile)}
		}
	}
	return nil
}

// A Party is the coordinator or a client of a study, with the fingerprint by which this client
// knows it.
type Party struct {
	Name        identity.Name        `json:"name"`
	Role        string               `json:"role"` // client or coordinator
	Fingerprint identity.Fingerprint `json:"fingerprint"`
	// First is the fingerprint of the identity with which the party began the study, if it has
	// changed. The policy uses this fingerprint.
	First *identity.Fingerprint `json:"first_fingerprint,omitempty"`
	// "this client", "known", "recognised", "not recognised" or "revoked"; for the coordinator
	// "allowed" or "not allowed"
	State string `json:"state"`
}

// Members lists the parties in the newest roster that this client has followed. While the roster is
// unknown, they are the coordinator and this client.
type Members struct {
	Study   string  `json:"study"`
	Version uint64  `json:"version"` // version of the roster; 0 before the study begins
	Parties []Party `json:"parties"`
	// state of this client's new keys; empty if it has none
	NewKeys string `json:"new_keys,omitempty"`
}

// Roster returns the members of a study. p may be nil.
func (c *Client) Roster(m *Member, p *Policy) (*Members, error) {
	if p == nil {
		p = &Policy{}
	}
	out := &Members{Study: m.Study.Name}
	switch {
	case m.Accepted:
		out.NewKeys = "accepted: they are valid from the next version of the roster"
	case m.next != nil:
		out.NewKeys = "made, but not sent yet: run client rotate"
	}
	first, err := c.roster(m)
	if err != nil {
		return nil, err
	}
	if first == nil {
		out.Parties = []Party{c.partyOf(m, p, m.coordinator(), m.Coordinator), c.partyOf(m, p, m.own, m.own.Key.Fingerprint())}
		return out, nil
	}
	members, err := c.version(m)
	if err != nil {
		return nil, err
	}
	if members == nil {
		members = first
	}
	out.Version = members.Version
	for _, e := range members.Entries {
		before, _ := first.Named(e.Name)
		party := c.partyOf(m, p, e, before.Key.Fingerprint())
		if slices.Contains(members.Revoked, e.Name) {
			party.State = "revoked"
		}
		out.Parties = append(out.Parties, party)
	}
	return out, nil
}

func (c *Client) partyOf(m *Member, p *Policy, e roster.Entry, first identity.Fingerprint) Party {
	out := Party{Name: e.Name, Role: e.Role.String(), Fingerprint: e.Key.Fingerprint(), State: "not recognised"}
	if first != out.Fingerprint {
		out.First = &first
	}
	switch {
	case e.Name == m.Name:
		out.State = "this client"
	case e.Role == identity.Coordinator && p.Allows(m.Coordinator):
		out.State = "allowed"
	case e.Role == identity.Coordinator:
		out.State = "not allowed"
	case slices.Contains(p.Known, first):
		out.State = "known"
	case slices.Contains(p.Recognised, first):
		out.State = "recognised"
	}
	return out
}
