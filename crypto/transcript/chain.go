package transcript

import (
	"errors"
	"fmt"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/signed"
)

// Reasons to refuse an entry. Their text never depends on it.
var (
	ErrOrder  = errors.New("an entry that does not follow the one before: one was left out, put in or changed, or there are two transcripts of this study")
	ErrKind   = errors.New("an entry out of place: the roster comes first and once, and only plans and outcomes have a question")
	ErrOver   = errors.New("an entry after the last one of the study")
	ErrBody   = errors.New("an entry whose body is not the one that was signed")
	ErrRoster = errors.New("a first entry whose roster is not the one that its header names, or has another coordinator")
)

// A Chain is a transcript up to some entry: what of it decides which entry can be next.
// It is a value; following an entry gives another one.
type Chain struct {
	study       Hash
	coordinator identity.PublicKey
	protocol    Hash
	members     *roster.Roster // nil before the first entry
	roster      Hash           // of members
	at          Position
}

// A Position is where in a transcript a chain is.
type Position struct {
	Number uint64 // of the last entry; 0 before the first
	Head   Hash   // SHA-256 of its envelope
	Over   bool   // it was the last of the study
}

// Begin returns the chain of a study that has no entry yet, all of whose entries the
// coordinator with the key given must have signed.
func Begin(study Hash, coordinator identity.PublicKey) Chain {
	return Chain{study: study, coordinator: coordinator}
}

// Position returns where c is, to be kept.
func (c Chain) Position() Position { return c.at }

// At returns c, which has followed the roster, at a position that the caller kept of a
// chain that had followed the same roster.
func (c Chain) At(p Position) Chain {
	c.at = p
	return c
}

// Members returns the roster, the first entry's body; nil before that.
func (c Chain) Members() *roster.Roster { return c.members }

// Protocol returns the digest of the rules that the coordinator derived from the study
// and the roster. Every party compares it with its own.
func (c Chain) Protocol() Hash { return c.protocol }

// Follow returns the chain with one more entry, after it was checked: signed by the
// coordinator, for this study, protocol and roster, next in number, naming the envelope
// before, with the body that was signed. The question and the model are the word of the
// coordinator, for the caller to compare with its own.
func (c Chain) Follow(envelope, body []byte) (Chain, Entry, error) {
	return c.follow(envelope, BodyOf(body), body)
}

// FollowHashed is Follow where the caller has hashed a body that is not in memory. The first entry's must be.
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
		members, err := roster.Parse(body, c.study)
		if err != nil {
			return c, Entry{}, err
		}
		if members.Hash() != header.Roster || members.Coordinator().Key != c.coordinator {
			return c, Entry{}, ErrRoster
		}
		c.members, c.roster, c.protocol = members, header.Roster, header.Protocol
	}
	c.at = Position{Number: e.Number, Head: e.Hash, Over: e.Kind.Last()}
	return c, e, nil
}

// read checks an envelope, and where its entry stands.
func (c Chain) read(envelope []byte) (Entry, signed.Header, error) {
	claimed, err := signed.Claims(envelope)
	if err != nil {
		return Entry{}, claimed, err
	}
	// What the receiver cannot know in advance is taken from the claims.
	want := c.header(claimed.Domain, claimed.Round, claimed.Model)
	if c.members == nil {
		want.Protocol, want.Roster = claimed.Protocol, claimed.Roster
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

// follows reports whether e can be the next entry.
func (c Chain) follows(e Entry) error {
	switch {
	case c.at.Over:
		return ErrOver
	case e.Number != c.at.Number+1 || e.Previous != c.at.Head:
		return ErrOrder
	case (e.Kind == Roster) != (e.Number == 1), (e.Ask > 0) != (e.Kind.Plan() || e.Kind.Outcome()):
		return ErrKind
	}
	return nil
}

func (c Chain) header(domain identity.Domain, ask uint64, model Hash) signed.Header {
	return signed.Header{
		Version: signed.MaxVersion, Domain: domain, Study: c.study, Protocol: c.protocol,
		Round: ask, Model: model, Roster: c.roster,
	}
}

// Open signs the first entry, for the roster of a study and the digest of the rules that
// follow from both. Its body is the encoding of the roster.
func (c Chain) Open(signer *identity.Identity, members *roster.Roster, protocol, model Hash) (envelope, body []byte, err error) {
	if c.at.Number != 0 {
		return nil, nil, ErrKind
	}
	body = members.Bytes()
	c.members, c.roster, c.protocol = members, members.Hash(), protocol
	envelope, err = c.sign(signer, Entry{Kind: Roster, Model: model}, BodyOf(body))
	return envelope, body, err
}

// Sign signs the next entry: its kind, the question if it is a plan or an outcome, the
// hash of the model after it, and its body. The chain is where it was: Follow goes on.
func (c Chain) Sign(signer *identity.Identity, kind Kind, ask uint64, model Hash, body []byte) (envelope []byte, err error) {
	return c.SignHashed(signer, kind, ask, model, BodyOf(body))
}

// SignHashed is Sign for a body that the caller has hashed.
func (c Chain) SignHashed(signer *identity.Identity, kind Kind, ask uint64, model Hash, body Body) (envelope []byte, err error) {
	if c.at.Number == 0 {
		return nil, ErrKind
	}
	return c.sign(signer, Entry{Kind: kind, Ask: ask, Model: model}, body)
}

func (c Chain) sign(signer *identity.Identity, e Entry, body Body) ([]byte, error) {
	if body.Size > MaxBody {
		return nil, fmt.Errorf("a body of %d bytes: at most %d", body.Size, MaxBody)
	}
	domain := e.Kind.domain()
	if domain == "" {
		return nil, ErrKind
	}
	e.Number, e.Previous, e.Body = c.at.Number+1, c.at.Head, body
	if err := c.follows(e); err != nil {
		return nil, err
	}
	return signed.Sign(signer, c.header(domain, e.Ask, e.Model), e.payload())
}
