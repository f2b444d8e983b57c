package signed

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
)

// MaxPayload is the maximum size of a payload in bytes. Larger data is sent separately, and the
// payload only has its hash.
const MaxPayload = 4 << 20

// Overhead is the maximum number of bytes that an envelope adds to its payload.
const Overhead = 512

// A Message is the content of an envelope that was verified.
type Message struct {
	Header  Header
	Payload []byte
	// Hash is the SHA-256 of the envelope, by which a transcript refers to the message.
	Hash Hash
	// Signature is the sender's signature. Assemble takes it as an argument.
	Signature [identity.SignatureSize]byte
}

// Sign signs a payload of at most MaxPayload bytes and returns the envelope. It sets the sender in
// the header to the signer.
func Sign(signer *identity.Identity, h Header, payload []byte) ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	if len(payload) > MaxPayload {
		return nil, fmt.Errorf("the payload has %d bytes, more than the limit of %d: sign its hash", len(payload), MaxPayload)
	}
	h.Sender = signer.Fingerprint()
	signature := signer.Sign(h.Domain, statement(h.Bytes(), payload))
	return Assemble(h, payload, signature), nil
}

// Assemble puts an envelope together from its parts, without checking them. If many parties sign
// the same payload, a message need only have their signatures. The receiver then assembles and
// verifies each envelope.
func Assemble(h Header, payload []byte, signature [identity.SignatureSize]byte) []byte {
	envelope := h.append(make([]byte, 0, len(payload)+Overhead))
	envelope = wire.AppendBytes(envelope, payload)
	return append(envelope, signature[:]...)
}

func statement(header, payload []byte) []byte {
	digest := sha256.Sum256(payload)
	return append(bytes.Clone(header), digest[:]...)
}

// Verify returns the message in an envelope. The signature must be valid for key, and the header
// must agree with want in version, domain, study, protocol, round, model and roster. The sender in
// the header must be the holder of key. The sender in want is ignored. Verify does not check the
// ledger fields, so a dishonest sender can falsify them. The payload shares memory with the
// envelope.
//
// A receiver that does not know the round in advance can get it from [Claims] and set it in want.
// Verify keeps no state, so it accepts the same envelope any number of times.
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
	return Message{Header: p.header, Payload: p.payload, Hash: sha256.Sum256(envelope), Signature: p.signature}, nil
}

// Claims returns the header of an envelope without verifying it. From the header, the caller can
// find the study and the key that Verify needs.
func Claims(envelope []byte) (Header, error) {
	p, err := parse(envelope)
	return p.header, err
}

// ClaimedPayload returns the payload of an envelope without verifying it.
func ClaimedPayload(envelope []byte) ([]byte, error) {
	p, err := parse(envelope)
	return p.payload, err
}

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
