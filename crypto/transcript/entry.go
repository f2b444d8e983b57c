package transcript

import (
	"errors"
	"strings"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/signed"
)

// A Kind is the kind of an entry. The phases of a study define kinds: those of plans end in "plan",
// and those of outcomes in "outcome".
type Kind string

// These are the kinds of entries that are neither plans nor outcomes.
const (
	Roster Kind = "roster" // the whole roster in the first entry; a change to it in later ones
	End    Kind = "end"    // last entry of a completed study
	Abort  Kind = "abort"  // last entry of an aborted study

	Exclude Kind = "exclude" // excludes a client; the body is an Abortion with its name
)

// These are the kinds of entries that come between a plan and its outcome in a study with secure
// sums. Package sums defines their bodies.
const (
	Cut         Kind = "cut"         // the deals to be added up
	Certificate Kind = "certificate" // confirmations of the cut
	Opening     Kind = "opening"     // shares of the sum
)

// Plan reports whether entries of this kind are plans.
func (k Kind) Plan() bool { return k.domain() == signed.Plan }

// Outcome reports whether entries of this kind are outcomes.
func (k Kind) Outcome() bool { return k.domain() == signed.Outcome }

// Step reports whether entries of this kind are steps of secure aggregation, which come between a
// plan and its outcome.
func (k Kind) Step() bool { return k == Cut || k == Certificate || k == Opening }

// Last reports whether an entry of this kind ends its transcript.
func (k Kind) Last() bool { return k == End || k == Abort }

const (
	maxKind = 32
	// version is the first byte of all payloads that do not begin with committed or fetched.
	version = 1
	// committed is the first byte of two payloads in a study with commitments: that of the first
	// entry, and that of an answer.
	committed = 2
	// fetched is the first byte of the first entry's payload if clients fetch each release
	// separately. Such a study has commitments.
	fetched = 3
)

// versioned returns a reader for all bytes after the first one. The first byte must be version.
func versioned(b []byte) *wire.Reader {
	r := wire.NewReader(b)
	if r.Uint8() != version {
		r.Fail()
	}
	return r
}

var domains = map[Kind]identity.Domain{
	Roster: signed.Roster, End: signed.Bundle, Abort: signed.Abort, Exclude: signed.Exclusion,
	Cut: signed.Cut, Certificate: signed.Certificate, Opening: signed.Opening,
}

// domain returns the signature domain for an entry of this kind, or "" if the kind is unknown.
func (k Kind) domain() identity.Domain {
	if k == "" || len(k) > maxKind || strings.Trim(string(k), "abcdefghijklmnopqrstuvwxyz-") != "" {
		return ""
	}
	switch {
	case k == "plan" || strings.HasSuffix(string(k), "-plan"):
		return signed.Plan
	case k == "outcome" || strings.HasSuffix(string(k), "-outcome"):
		return signed.Outcome
	}
	return domains[k]
}

// An Entry is the content of a transcript envelope.
type Entry struct {
	Number   uint64 // number of the entry, from 1
	Kind     Kind
	Ask      uint64 // number of the plan, from 1, if the entry is a plan, a step or an outcome; otherwise 0
	Model    Hash   // hash of λ after this entry
	Previous Hash   // SHA-256 of the previous envelope; zero in the first entry
	Body     Body
	Hash     Hash // SHA-256 of this envelope
	Commits  bool // whether the study has commitments; only set in the first entry
	// whether clients fetch each release separately, because the releases are too large for an
	// outcome; only set in the first entry
	Fetches bool
}

// ErrForm is returned for malformed bytes. It does not depend on the bytes.
var ErrForm = errors.New("not the encoding of a message of a study: the bytes were changed, cut short, or written by another program")

// payload returns the encoding of the fields that are not in the envelope's header.
func (e Entry) payload() []byte {
	b := append(make([]byte, 0, 128), version)
	switch {
	case e.Fetches:
		b[0] = fetched
	case e.Commits:
		b[0] = committed
	}
	b = wire.AppendUint64(b, e.Number)
	b = wire.AppendBytes(b, string(e.Kind))
	b = append(b, e.Previous[:]...)
	return e.Body.Append(b)
}

// Claims returns the entry in an envelope's payload without verifying it. Ask, Model and Hash are
// zero.
func Claims(envelope []byte) (Entry, error) {
	payload, err := signed.ClaimedPayload(envelope)
	if err != nil {
		return Entry{}, err
	}
	return parsePayload(payload)
}

func parsePayload(b []byte) (e Entry, err error) {
	r := wire.NewReader(b)
	form := r.Uint8()
	e.Number = r.Uint64()
	e.Kind = Kind(r.Bytes(maxKind))
	e.Fetches = form == fetched && e.Kind == Roster
	if e.Commits = e.Fetches || form == committed && e.Kind == Roster; !e.Commits && form != version {
		r.Fail()
	}
	r.Fixed(e.Previous[:])
	e.Body = ReadBody(r)
	if !r.Done() || e.Number == 0 || e.Kind.domain() == "" {
		return Entry{}, ErrForm
	}
	return e, nil
}
