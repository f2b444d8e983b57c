// Package signed is how every message of a study is signed: an [Envelope] is a header
// that says what the message is, to what it belongs and who sent it; a payload; and the
// sender's Ed25519 signature over the header and the hash of the payload.
//
// The bytes that were signed are the bytes that are sent and checked; nothing is ever
// encoded a second time. A header has one encoding.
//
// A valid message is valid as often as it is shown: whoever keeps state refuses the
// second of one (domain, study, round, sender). The header carries what that takes.
package signed

import (
	"crypto/sha256"
	"errors"
	"slices"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
)

// The versions of the protocol that this program speaks.
const (
	MinVersion = 1
	MaxVersion = 1
)

// What a message is. A domain has one meaning for ever: a new meaning is a new domain.
const (
	Plan       identity.Domain = "fedpvi/v1/plan"       // the coordinator opens a round
	Release    identity.Domain = "fedpvi/v1/release"    // a client answers it
	Outcome    identity.Domain = "fedpvi/v1/outcome"    // the coordinator closes it
	Roster     identity.Domain = "fedpvi/v1/roster"     // the coordinator lists the parties
	Invitation identity.Domain = "fedpvi/v1/invitation" // a client redeems an invitation
	Admission  identity.Domain = "fedpvi/v1/admission"  // the coordinator answers that
	Approval   identity.Domain = "fedpvi/v1/approval"   // a client consents to take part
	Head       identity.Domain = "fedpvi/v1/head"       // a client vouches for its ledger
	Bundle     identity.Domain = "fedpvi/v1/bundle"     // the coordinator publishes a run
	Abort      identity.Domain = "fedpvi/v1/abort"      // a party ends its part, or all of it
)

var domains = []identity.Domain{Plan, Release, Outcome, Roster, Invitation, Admission, Approval, Head, Bundle, Abort}

// Reasons to refuse a message. Their text never depends on the message.
var (
	ErrForm      = errors.New("a signed message that is malformed: it was changed, cut or made by something else")
	ErrVersion   = errors.New("a signed message of a protocol version that this program does not speak: update the older of the two programs")
	ErrDomain    = errors.New("a signed message that is not of the kind expected here")
	ErrSender    = errors.New("a signed message of somebody else than the party expected here")
	ErrSignature = errors.New("a signed message whose signature is wrong")
	ErrStudy     = errors.New("a signed message of another study")
	ErrProtocol  = errors.New("a signed message under another protocol: the parties derived different rules from the study")
	ErrRound     = errors.New("a signed message of another round")
	ErrModel     = errors.New("a signed message about another model: the parties disagree on what the last outcome was")
	ErrRoster    = errors.New("a signed message under another roster")
)

// A Hash is a SHA-256.
type Hash = [sha256.Size]byte

// A Header binds a payload to everything that gives it its meaning.
type Header struct {
	Version    uint16 // of the protocol
	Domain     identity.Domain
	Study      Hash   // of the study document
	Protocol   Hash   // of the rules derived from it
	Round      uint64 // from 1; 0 for what belongs to none
	Model      Hash   // of the global natural parameters λ that the round starts from
	Roster     Hash   // of the parties in force
	LedgerSeq  uint64 // entries of the sender's ledger
	LedgerHead Hash   // of the last of them
	Sender     identity.Fingerprint
}

const (
	maxDomain = 64
	magic     = "FPS1"
)

func (h *Header) hashes() []*Hash {
	return []*Hash{&h.Study, &h.Protocol, &h.Model, &h.Roster, &h.LedgerHead}
}

// Bytes returns the header in its one encoding. What is sealed within a payload has them
// as its context, with the sender filled in, and opens in no other message.
func (h Header) Bytes() []byte { return h.append(nil) }

func (h Header) append(b []byte) []byte {
	b = append(b, magic...)
	b = wire.AppendUint16(b, h.Version)
	b = wire.AppendBytes(b, string(h.Domain))
	for _, hash := range h.hashes() {
		b = append(b, hash[:]...)
	}
	b = wire.AppendUint64(wire.AppendUint64(b, h.Round), h.LedgerSeq)
	return append(b, h.Sender[:]...)
}

// readHeader does not check that there are such a version and domain.
func readHeader(r *wire.Reader) Header {
	var h Header
	if string(r.Take(len(magic))) != magic {
		r.Fail()
	}
	h.Version = r.Uint16()
	h.Domain = identity.Domain(r.Bytes(maxDomain))
	for _, hash := range h.hashes() {
		r.Fixed(hash[:])
	}
	h.Round, h.LedgerSeq = r.Uint64(), r.Uint64()
	r.Fixed(h.Sender[:])
	return h
}

func (h Header) check() error {
	if h.Version < MinVersion || h.Version > MaxVersion {
		return ErrVersion
	}
	if !slices.Contains(domains, h.Domain) {
		return ErrDomain
	}
	return nil
}

// matches compares everything that the receiver knows before the message comes; what
// the sender says of its ledger is not among it.
func (h Header) matches(want Header) error {
	for _, c := range []struct {
		same bool
		err  error
	}{
		{h.Version == want.Version, ErrVersion},
		{h.Study == want.Study, ErrStudy},
		{h.Protocol == want.Protocol, ErrProtocol},
		{h.Round == want.Round, ErrRound},
		{h.Model == want.Model, ErrModel},
		{h.Roster == want.Roster, ErrRoster},
	} {
		if !c.same {
			return c.err
		}
	}
	return nil
}
