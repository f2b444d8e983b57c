package transcript

import (
	"errors"
	"fmt"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/signed"
)

// These are the errors of Follow and Sign. Their texts do not depend on the entry.
var (
	ErrOrder  = errors.New("the entry does not follow the previous one: an entry was left out, inserted or changed, or this study has two transcripts")
	ErrKind   = errors.New("the entry is out of place: the first entry is the roster, and only plans, steps and outcomes have the number of a plan")
	ErrOver   = errors.New("the entry comes after the last one of the study")
	ErrBody   = errors.New("the body of the entry is not the signed one")
	ErrRoster = errors.New("the roster of the entry is not the one in its header, or has another coordinator")

	ErrCommitment = errors.New("the answer must be signed together with the hash of its release in this study, or without it in a study that began with an earlier program")
)

// A Chain is the state of a transcript after a certain entry. It determines which entries may come
// next. A Chain is a value, and Follow returns a new one.
type Chain struct {
	study       Hash
	coordinator identity.PublicKey // key with which the next entry must be signed
	protocol    Hash
	members     *roster.Roster // present version of the roster; nil before the first entry
	roster      Hash           // SHA-256 of members
	commits     bool           // whether answers have commitments
	fetches     bool           // whether clients fetch releases separately (see [Chain.Fetches])
	at          Position
}

// A Position identifies the last entry that a chain has processed.
type Position struct {
	Number uint64 // number of the last entry; 0 if there are no entries
	Head   Hash   // SHA-256 of the envelope of the last entry
	Over   bool
}

// Begin returns the chain of a study whose transcript is still empty. The coordinator with the
// given key must sign all entries until an entry of the kind Roster replaces the key.
func Begin(study Hash, coordinator identity.PublicKey) Chain {
	return Chain{study: study, coordinator: coordinator}
}

// Position returns how far the chain has got in the transcript. A caller can store the position and
// continue from there with [Chain.At].
func (c Chain) Position() Position { return c.at }

// At returns a copy of c that continues from a stored position. The position must be that of a
// chain with the same roster.
func (c Chain) At(p Position) Chain {
	c.at = p
	return c
}

// With returns a copy of c that continues with a stored version of the roster.
func (c Chain) With(members *roster.Roster) Chain {
	c.members, c.roster, c.coordinator = members, members.Hash(), members.Coordinator().Key
	return c
}

// Coordinator returns the key with which the coordinator must sign the next entry.
func (c Chain) Coordinator() identity.PublicKey { return c.coordinator }

// Members returns the present version of the roster, or nil before the first entry.
func (c Chain) Members() *roster.Roster { return c.members }

// Commits reports whether the study has commitments, according to the first transcript entry. If
// so, each answer has the hash of its release, and the body of an outcome is an [Answered].
func (c Chain) Commits() bool { return c.commits }

// Fetches reports whether clients fetch each release separately because the releases are too large
// for an outcome. This is in the first transcript entry. If the study began under an earlier
// version of the program, Fetches returns false, and an outcome has only the sum of releases that
// are too large.
func (c Chain) Fetches() bool { return c.fetches }

// Protocol returns the hash of the rules that the coordinator has derived from the study and the
// roster. Each party compares it with its own hash.
func (c Chain) Protocol() Hash { return c.protocol }

// Follow checks the next entry and returns the chain after it. The coordinator must have signed the
// entry for this study, protocol and roster. The entry's number, the hash of the previous envelope
// and the body must be right. The caller must check the plan number and the model hash itself. If
// there is an error, Follow returns c unchanged.
func (c Chain) Follow(envelope, body []byte) (Chain, Entry, error) {
	return c.follow(envelope, BodyOf(body), body)
}

// FollowHashed is like [Chain.Follow], for a body that is not in memory. The caller has computed
// its size and hash. FollowHashed cannot process entries of the kind Roster, because it would need
// their bodies.
func (c Chain) FollowHashed(envelope []byte, body Body) (Chain, Entry, error) {
	return c.follow(envelope, body, nil)
}

func (c Chain) follow(envelope []byte, hashed Body, body []byte) (Chain, Entry, error) {
	e, header, err := c.read(envelope)
	if err != nil {
		return c, Entry{}, err
	}
	if e.Body != hashed {
		return c, Entry{}, ErrBody
	}
	if e.Kind == Roster {
		members, err := c.version(body)
		if err != nil {
			return c, Entry{}, err
		}
		if members.Hash() != header.Roster {
			return c, Entry{}, ErrRoster
		}
		c = c.With(members)
		if c.protocol = header.Protocol; e.Number == 1 {
			c.commits, c.fetches = e.Commits, e.Fetches
		}
	}
	c.at = Position{Number: e.Number, Head: e.Hash, Over: e.Kind.Last()}
	return c, e, nil
}

// version returns the version of the roster after an entry of the kind Roster. In the first entry,
// the body is the whole roster, and in later entries it is a change to the previous version.
func (c Chain) version(body []byte) (*roster.Roster, error) {
	if c.members == nil {
		members, err := roster.Parse(body, c.study)
		if err == nil && (members.Version != 1 || members.Coordinator().Key != c.coordinator) {
			err = ErrRoster
		}
		return members, err
	}
	change, err := roster.ParseChange(body)
	if err != nil {
		return nil, err
	}
	for _, r := range change.Revoked {
		if _, err := Reason(r.Reason); err != nil {
			return nil, err
		}
	}
	return c.members.Apply(change)
}

// read verifies an envelope and checks that its entry can be the next one.
func (c Chain) read(envelope []byte) (Entry, signed.Header, error) {
	claimed, err := signed.Claims(envelope)
	if err != nil {
		return Entry{}, claimed, err
	}
	// The domain, round and model are not known in advance, so take them from the header, although
	// it has not been verified yet.
	want := c.Header(claimed.Domain, claimed.Round, claimed.Model)
	if c.members == nil {
		want.Protocol = claimed.Protocol
	}
	if c.members == nil || claimed.Domain == signed.Roster {
		want.Roster = claimed.Roster // the header has the hash of the roster after this entry
	}
	m, err := signed.Verify(envelope, c.coordinator, want)
	if err != nil {
		return Entry{}, claimed, err
	}
	e, err := parsePayload(m.Payload)
	if err != nil {
		return Entry{}, claimed, err
	}
	if m.Header.LedgerSeq != 0 || m.Header.LedgerHead != (Hash{}) || e.Kind.domain() != m.Header.Domain {
		return Entry{}, claimed, ErrForm
	}
	e.Ask, e.Model, e.Hash = m.Header.Round, m.Header.Model, m.Hash
	return e, m.Header, c.follows(e)
}

func (c Chain) follows(e Entry) error {
	switch {
	case c.at.Over:
		return ErrOver
	case e.Number != c.at.Number+1 || e.Previous != c.at.Head:
		return ErrOrder
	case e.Number == 1 && e.Kind != Roster, e.Number > 1 && e.Commits, (e.Ask > 0) != (e.Kind.Plan() || e.Kind.Step() || e.Kind.Outcome()):
		return ErrKind
	}
	return nil
}

// Header returns the header of a message for a plan, without ledger fields and sender. If the
// message is for the whole study, plan is 0.
func (c Chain) Header(domain identity.Domain, plan uint64, model Hash) signed.Header {
	return signed.Header{
		Version: signed.MaxVersion, Domain: domain, Study: c.study, Protocol: c.protocol,
		Round: plan, Model: model, Roster: c.roster,
	}
}

// Open returns the first entry with its signature. Its body is the roster. protocol is the hash of
// the rules that follow from the study and the roster. commits says whether the study has
// commitments, and fetches whether clients fetch each release separately (see [Chain.Fetches]).
func (c Chain) Open(signer *identity.Identity, members *roster.Roster, protocol, model Hash, commits, fetches bool) (envelope, body []byte, err error) {
	if c.at.Number != 0 {
		return nil, nil, ErrKind
	}
	body = members.Bytes()
	c.members, c.roster, c.protocol = members, members.Hash(), protocol
	envelope, err = c.sign(signer, Entry{Kind: Roster, Model: model, Commits: commits, Fetches: fetches}, BodyOf(body))
	return envelope, body, err
}

// Sign returns the signed envelope of the next entry. If the entry is a plan, a step or an outcome,
// plan is the number of the plan, from 1. Otherwise it is 0. model is the hash of λ after the
// entry. Sign does not change c, but Follow returns the chain after the entry.
func (c Chain) Sign(signer *identity.Identity, kind Kind, plan uint64, model Hash, body []byte) (envelope []byte, err error) {
	return c.SignHashed(signer, kind, plan, model, BodyOf(body))
}

// SignHashed is like [Chain.Sign], for a body of which the caller has computed the size and hash.
func (c Chain) SignHashed(signer *identity.Identity, kind Kind, plan uint64, model Hash, body Body) (envelope []byte, err error) {
	if c.at.Number == 0 || kind == Roster {
		return nil, ErrKind
	}
	return c.sign(signer, Entry{Kind: kind, Ask: plan, Model: model}, body)
}

// Change returns the signed entry that begins the next version of the roster. The signer is the
// identity that the coordinator has before the change. If the change gives it a new identity, later
// entries are signed with that.
func (c Chain) Change(signer *identity.Identity, change roster.Change, model Hash) (envelope, body []byte, err error) {
	if c.members == nil {
		return nil, nil, ErrKind
	}
	members, err := c.members.Apply(change)
	if err != nil {
		return nil, nil, err
	}
	body = change.Bytes()
	c.roster = members.Hash()
	envelope, err = c.sign(signer, Entry{Kind: Roster, Model: model}, BodyOf(body))
	return envelope, body, err
}

func (c Chain) sign(signer *identity.Identity, e Entry, body Body) ([]byte, error) {
	if body.Size > MaxBody {
		return nil, fmt.Errorf("the body has %d bytes, more than the limit of %d", body.Size, MaxBody)
	}
	domain := e.Kind.domain()
	if domain == "" {
		return nil, ErrKind
	}
	e.Number, e.Previous, e.Body = c.at.Number+1, c.at.Head, body
	if err := c.follows(e); err != nil {
		return nil, err
	}
	return signed.Sign(signer, c.Header(domain, e.Ask, e.Model), e.payload())
}
