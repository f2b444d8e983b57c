package transcript

import (
	"errors"
	"fmt"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/signed"
)

// The errors of Follow and Sign. Their texts do not depend on the entry.
var (
	ErrOrder  = errors.New("the entry does not follow the previous one: an entry was left out, inserted or changed, or this study has two transcripts")
	ErrKind   = errors.New("the entry is out of place: the first entry is the roster, and only plans, steps and outcomes have the number of a plan")
	ErrOver   = errors.New("the entry comes after the last one of the study")
	ErrBody   = errors.New("the body of the entry is not the signed one")
	ErrRoster = errors.New("the roster of the entry is not the one in its header, or has another coordinator")

	ErrCommitment = errors.New("the answer must be signed together with the hash of its release in this study, or without it in a study that began with an earlier program")
)

// A Chain is the state of a transcript after some entry, which determines the allowed next entries.
// A Chain is a value, and Follow returns a new one.
type Chain struct {
	study       Hash
	coordinator identity.PublicKey // key that signs the next entry
	protocol    Hash
	members     *roster.Roster // present version of the roster; nil before the first entry
	roster      Hash           // SHA-256 of members
	commits     bool           // whether answers have commitments
	fetches     bool           // whether clients fetch releases separately (see [Chain.Fetches])
	at          Position
}

// A Position identifies the last entry of a transcript that a chain has processed.
type Position struct {
	Number uint64 // number of the last entry; 0 if there is none
	Head   Hash   // SHA-256 of the envelope of the last entry
	Over   bool
}

// Begin returns the chain of a study whose transcript is empty. The coordinator with the given key
// must sign all entries, until an entry of the kind Roster replaces this key.
func Begin(study Hash, coordinator identity.PublicKey) Chain {
	return Chain{study: study, coordinator: coordinator}
}

// Position returns the position in the transcript that the chain has reached. A caller can store it
// and continue later with [Chain.At].
func (c Chain) Position() Position { return c.at }

// At returns a copy of c that continues after a stored position, of a chain with the same roster.
func (c Chain) At(p Position) Chain {
	c.at = p
	return c
}

// With returns a copy of c that continues with a stored version of the roster.
func (c Chain) With(members *roster.Roster) Chain {
	c.members, c.roster, c.coordinator = members, members.Hash(), members.Coordinator().Key
	return c
}

// Coordinator returns the key with which the coordinator signs the next entry.
func (c Chain) Coordinator() identity.PublicKey { return c.coordinator }

// Members returns the present version of the roster, or nil before the first entry.
func (c Chain) Members() *roster.Roster { return c.members }

// Commits reports whether the study has commitments, as the first entry of the transcript states.
// Each answer then contains the hash of its release, and the body of an outcome is an [Answered].
func (c Chain) Commits() bool { return c.commits }

// Fetches reports whether clients fetch each release separately, because the releases are too large
// for an outcome. The first entry of the transcript states this. If an earlier version of the
// program began the study, Fetches returns false, and an outcome has only the sum of releases that
// are too large.
func (c Chain) Fetches() bool { return c.fetches }

// Protocol returns the hash of the rules that the coordinator has derived from the study and the
// roster. Every party compares it with its own.
func (c Chain) Protocol() Hash { return c.protocol }

// Follow checks the next entry and returns the chain after it. The coordinator must have signed the
// entry for this study, protocol and roster, and its number, the hash of the previous envelope and
// the body must be correct. Follow does not check the number of the plan and the model hash, which
// the caller must do. With an error, it returns c unchanged.
func (c Chain) Follow(envelope, body []byte) (Chain, Entry, error) {
	return c.follow(envelope, BodyOf(body), body)
}

// FollowHashed is like [Chain.Follow], for a body that is not in memory and whose size and hash the
// caller has computed. It cannot process entries of the kind Roster, whose bodies it would need.
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

// version returns the version of the roster after an entry of the kind Roster. The body of the
// first entry is the whole roster, that of a later entry a change of the previous version.
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
	// The domain, round and model are not known in advance. Take them from the header, which is not
	// verified yet.
	want := c.Header(claimed.Domain, claimed.Round, claimed.Model)
	if c.members == nil {
		want.Protocol = claimed.Protocol
	}
	if c.members == nil || claimed.Domain == signed.Roster {
		want.Roster = claimed.Roster // the header contains the hash of the roster after this entry
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

// Header returns the header of a message for a plan, or for the study as a whole if plan is 0,
// without ledger fields and sender.
func (c Chain) Header(domain identity.Domain, plan uint64, model Hash) signed.Header {
	return signed.Header{
		Version: signed.MaxVersion, Domain: domain, Study: c.study, Protocol: c.protocol,
		Round: plan, Model: model, Roster: c.roster,
	}
}

// Open returns the signed first entry, whose body is the roster. protocol is the hash of the rules
// that follow from the study and the roster. commits states whether the study has commitments, and
// fetches whether clients fetch each release separately (see [Chain.Fetches]).
func (c Chain) Open(signer *identity.Identity, members *roster.Roster, protocol, model Hash, commits, fetches bool) (envelope, body []byte, err error) {
	if c.at.Number != 0 {
		return nil, nil, ErrKind
	}
	body = members.Bytes()
	c.members, c.roster, c.protocol = members, members.Hash(), protocol
	envelope, err = c.sign(signer, Entry{Kind: Roster, Model: model, Commits: commits, Fetches: fetches}, BodyOf(body))
	return envelope, body, err
}

// Sign returns the signed envelope of the next entry. plan is the number of the plan, from 1, in a
// plan, a step or an outcome, and otherwise 0. model is the hash of λ after the entry. Sign does
// not change c; Follow returns the chain after the entry.
func (c Chain) Sign(signer *identity.Identity, kind Kind, plan uint64, model Hash, body []byte) (envelope []byte, err error) {
	return c.SignHashed(signer, kind, plan, model, BodyOf(body))
}

// SignHashed is like [Chain.Sign], for a body whose size and hash the caller has computed.
func (c Chain) SignHashed(signer *identity.Identity, kind Kind, plan uint64, model Hash, body Body) (envelope []byte, err error) {
	if c.at.Number == 0 || kind == Roster {
		return nil, ErrKind
	}
	return c.sign(signer, Entry{Kind: kind, Ask: plan, Model: model}, body)
}

// Change returns the signed entry that begins the next version of the roster. The signer is the
// coordinator's identity before the change. Later entries are signed with its new identity, if the
// change gives it one.
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
