// Package signed signs and verifies a study's messages. A signed message is an envelope. It has a
// header, a payload, and the sender's Ed25519 signature over the header and the payload's hash. The
// header gives the message's kind, study, round, model, roster and sender.
//
// A receiver verifies the signature over the bytes that it has received, without encoding the
// header again. Each header has exactly one encoding.
//
// The package does not detect repeated messages. A receiver that must not process a message twice
// has to remember it, and refuse another message with the same domain, study, round and sender.
package signed

import (
	"crypto/sha256"
	"errors"
	"slices"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
)

// MinVersion and MaxVersion are the oldest and the newest version of the message format that the
// package supports.
const (
	MinVersion = 1
	MaxVersion = 1
)

// These are the domains of signed messages. Each kind of message has its own. A domain never
// changes its meaning: a message with a new meaning gets a new domain.
const (
	Plan       identity.Domain = "fedpvi/v1/plan"       // coordinator's request to the clients
	Release    identity.Domain = "fedpvi/v1/release"    // client's answer to a plan
	Outcome    identity.Domain = "fedpvi/v1/outcome"    // coordinator's message with the result of a plan
	Roster     identity.Domain = "fedpvi/v1/roster"     // coordinator's list of the parties
	Invitation identity.Domain = "fedpvi/v1/invitation" // client's request to join with an invitation
	Admission  identity.Domain = "fedpvi/v1/admission"  // coordinator's reply to a request to join
	Approval   identity.Domain = "fedpvi/v1/approval"   // client's consent to take part
	Head       identity.Domain = "fedpvi/v1/head"       // client's message with the last entry of its ledger
	Bundle     identity.Domain = "fedpvi/v1/bundle"     // coordinator's last message of a completed study
	// client's withdrawal, or coordinator's message that ends the study early
	Abort     identity.Domain = "fedpvi/v1/abort"
	Exclusion identity.Domain = "fedpvi/v1/exclusion" // coordinator's message that excludes a client

	// These are the domains of messages in package sums.
	Keys        identity.Domain = "fedpvi/v1/keys"        // keys with which the client will encrypt the columns of its deals
	Deal        identity.Domain = "fedpvi/v1/deal"        // client's answer to a plan, split into columns for all clients
	Cut         identity.Domain = "fedpvi/v1/cut"         // coordinator's list of the deals to be added up
	Confirm     identity.Domain = "fedpvi/v1/confirm"     // client's promise to confirm this cut and no other
	Certificate identity.Domain = "fedpvi/v1/certificate" // coordinator's list of confirmations
	Share       identity.Domain = "fedpvi/v1/share"       // sum of the columns that a holder has in the deals of the cut
	Opening     identity.Domain = "fedpvi/v1/opening"     // coordinator's list of shares, from which the sum can be computed
)

var domains = []identity.Domain{
	Plan, Release, Outcome, Roster, Invitation, Admission, Approval, Head, Bundle, Abort, Exclusion,
	Keys, Deal, Cut, Confirm, Certificate, Share, Opening,
}

// These are the errors of Verify. Their texts do not depend on the message.
var (
	ErrForm      = errors.New("the signed message is malformed: it was changed, cut short, or written by another program")
	ErrVersion   = errors.New("the signed message has a protocol version that this program does not support: update the older of the two programs")
	ErrDomain    = errors.New("the signed message is not of the expected kind")
	ErrSender    = errors.New("the signed message is not from the expected party")
	ErrSignature = errors.New("the signature of the message is wrong")
	ErrStudy     = errors.New("the signed message belongs to another study")
	ErrProtocol  = errors.New("the signed message belongs to another protocol: the parties derived different rules from the study")
	ErrRound     = errors.New("the signed message belongs to another round")
	ErrModel     = errors.New("the signed message refers to another model: the parties disagree on the last outcome")
	ErrRoster    = errors.New("the signed message belongs to another roster")
)

// A Hash is a SHA-256.
type Hash = [sha256.Size]byte

// A Header gives the kind, study, protocol, round, model, roster and sender of a message.
type Header struct {
	Version    uint16 // version of the message format
	Domain     identity.Domain
	Study      Hash   // hash of the study document
	Protocol   Hash   // hash of the rules, which follow from the study and the roster
	Round      uint64 // number of the plan, from 1; 0 if the message belongs to no plan
	Model      Hash   // hash of the natural parameters λ at the start of the round
	Roster     Hash   // hash of the current roster
	LedgerSeq  uint64 // number of entries in the sender's ledger
	LedgerHead Hash   // hash of the last entry in the sender's ledger
	Sender     identity.Fingerprint
}

const (
	maxDomain = 64
	magic     = "FPS1"
)

func (h *Header) hashes() []*Hash {
	return []*Hash{&h.Study, &h.Protocol, &h.Model, &h.Roster, &h.LedgerHead}
}

// Bytes returns the encoding of the header. If the header has a sender, this is also the context
// for encrypting the payload, so that the payload cannot be opened as part of another message.
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

// matches does not compare the domain, the sender or the sender's ledger.
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
