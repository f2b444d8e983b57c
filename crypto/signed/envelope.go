package signed

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
)

// MaxPayload is the largest payload in bytes: what is larger is sent in pieces, and its
// hash is signed.
const MaxPayload = 4 << 20

// Overhead is the most that an envelope has more than its payload, in bytes.
const Overhead = 512

// A Message is what an envelope holds, after everything was checked.
type Message struct {
	Header  Header
	Payload []byte
	// Hash is the SHA-256 of the envelope, for a transcript.
	Hash Hash
}

// Sign returns the envelope of a payload. The sender in the header is set to the
// signer. The payload may have MaxPayload bytes.
func Sign(signer *identity.Identity, h Header, payload []byte) ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	if len(payload) > MaxPayload {
		return nil, fmt.Errorf("a payload of %d bytes: at most %d are signed at once, sign a hash", len(payload), MaxPayload)
	}
	h.Sender = signer.Fingerprint()
	envelope := h.append(make([]byte, 0, len(payload)+Overhead))
	signature := signer.Sign(h.Domain, statement(envelope, payload))
	envelope = wire.AppendBytes(envelope, payload)
	return append(envelope, signature[:]...), nil
}

// statement is what is signed: the header as it is sent, and the hash of the payload.
func statement(header, payload []byte) []byte {
	digest := sha256.Sum256(payload)
	return append(bytes.Clone(header), digest[:]...)
}

// Verify returns the message in an envelope if key signed it and its header is what the
// receiver wants, in version, domain, study, protocol, round, model and roster. The
// sender of want is not looked at: key says who it must be. What the header says of the
// ledger is the word of the sender. The payload is part of the envelope, not a copy.
//
// A round that the receiver cannot know in advance is taken from Claims and then wanted,
// in plain sight. Verify remembers nothing: the same envelope is valid again.
func Verify(envelope []byte, key identity.PublicKey, want Header) (Message, error) {
	p, err := parse(envelope)
	if err != nil {
		return Message{}, err
	}
	if p.header.Domain != want.Domain {
		return Message{}, ErrDomain
	}
	if p.header.Sender != key.Fingerprint() {
		return Message{}, ErrSender
	}
	if !key.Verify(p.header.Domain, statement(p.signed, p.payload), p.signature) {
		return Message{}, ErrSignature
	}
	if err := p.header.matches(want); err != nil {
		return Message{}, err
	}
	return Message{Header: p.header, Payload: p.payload, Hash: sha256.Sum256(envelope)}, nil
}

// Claims returns what the header of an envelope says of it. Nothing of it is known to
// be true: it serves to find the study and the key to check it with.
func Claims(envelope []byte) (Header, error) {
	p, err := parse(envelope)
	return p.header, err
}

// ClaimedPayload returns what an envelope holds, of which nothing is known to be true.
func ClaimedPayload(envelope []byte) ([]byte, error) {
	p, err := parse(envelope)
	return p.payload, err
}

// parts are an envelope taken apart: signed is its header as it was sent.
type parts struct {
	header          Header
	signed, payload []byte
	signature       [identity.SignatureSize]byte
}

func parse(envelope []byte) (parts, error) {
	if len(envelope) > MaxPayload+Overhead {
		return parts{}, ErrForm
	}
	var p parts
	r := wire.NewReader(envelope)
	p.header = readHeader(r)
	if r.Failed() {
		return parts{}, ErrForm
	}
	p.signed = envelope[:len(envelope)-r.Len()]
	p.payload = r.Bytes(MaxPayload)
	r.Fixed(p.signature[:])
	if !r.Done() {
		return parts{}, ErrForm
	}
	if err := p.header.check(); err != nil {
		return parts{}, err
	}
	return p, nil
}
