package transcript

import (
	"errors"
	"strings"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/signed"
)

// A Kind says what an entry is. The kinds of plans end with "plan" and those of outcomes
// with "outcome": which there are is a matter of the study's phases.
type Kind string

// The kinds that are not of a phase.
const (
	Roster Kind = "roster" // the first entry: who takes part
	End    Kind = "end"    // the last entry of a study that was played to its end
	Abort  Kind = "abort"  // the last entry of one that was not
)

// Plan reports whether an entry asks clients for something.
func (k Kind) Plan() bool { return k.domain() == signed.Plan }

// Outcome reports whether an entry says what became of a plan.
func (k Kind) Outcome() bool { return k.domain() == signed.Outcome }

// Last reports whether nothing comes after an entry.
func (k Kind) Last() bool { return k == End || k == Abort }

const (
	maxKind = 32
	// version is the first byte of every payload.
	version = 1
)

// domain is what an entry is signed under; empty if there is no such kind.
func (k Kind) domain() identity.Domain {
	if k == "" || len(k) > maxKind || strings.Trim(string(k), "abcdefghijklmnopqrstuvwxyz-") != "" {
		return ""
	}
	switch {
	case k == Roster:
		return signed.Roster
	case k == End:
		return signed.Bundle
	case k == Abort:
		return signed.Abort
	case k == "plan" || strings.HasSuffix(string(k), "-plan"):
		return signed.Plan
	case k == "outcome" || strings.HasSuffix(string(k), "-outcome"):
		return signed.Outcome
	}
	return ""
}

// An Entry is what the envelope of an entry says.
type Entry struct {
	Number   uint64 // from 1
	Kind     Kind
	Ask      uint64 // the question of a plan or outcome, from 1; 0 for others
	Model    Hash   // of λ after this entry
	Previous Hash   // SHA-256 of the envelope before; zeros for the first
	Body     Body
	Hash     Hash // SHA-256 of the envelope
}

// ErrForm says that bytes are not what they should be.
var ErrForm = errors.New("not the encoding of something that a party of a study says: it was changed, cut or made by something else")

// payload is what is signed of an entry that its header does not say.
func (e Entry) payload() []byte {
	b := append(make([]byte, 0, 128), version)
	b = wire.AppendUint64(b, e.Number)
	b = wire.AppendBytes(b, string(e.Kind))
	b = append(b, e.Previous[:]...)
	return e.Body.append(b)
}

// Claims returns what the payload of an envelope says of an entry. Nothing of it is known to be true.
func Claims(envelope []byte) (Entry, error) {
	payload, err := signed.ClaimedPayload(envelope)
	if err != nil {
		return Entry{}, err
	}
	return parsePayload(payload)
}

func parsePayload(b []byte) (e Entry, err error) {
	r := wire.NewReader(b)
	if r.Uint8() != version {
		r.Fail()
	}
	e.Number = r.Uint64()
	e.Kind = Kind(r.Bytes(maxKind))
	r.Fixed(e.Previous[:])
	e.Body = readBody(r)
	if !r.Done() || e.Number == 0 || e.Kind.domain() == "" {
		return Entry{}, ErrForm
	}
	return e, nil
}
