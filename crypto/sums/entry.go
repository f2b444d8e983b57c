package sums

import (
	"fmt"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
)

// A Refused is the error for a message or entry that breaks the protocol. It leaves the state
// unchanged.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return "sums: " + r.Reason }

func refuse(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// A Dealt identifies a deal in a cut by the dealer and the salt that the dealer has drawn. Nobody
// else can make columns for this salt.
type Dealt struct {
	Place int
	Salt  Hash
}

const (
	dealtSize     = 2 + 32
	signatureSize = 2 + identity.SignatureSize // size of a place and a signature in bytes
)

func cutBytes(cut []Dealt) []byte {
	b := append(make([]byte, 0, 1+len(cut)*dealtSize), version)
	for _, d := range cut {
		b = append(appendPlace(b, d.Place), d.Salt[:]...)
	}
	return b
}

// parseCut decodes a cut. It must have at least Fewest places in increasing order, each with a
// salt.
func (f *Federation) parseCut(body []byte) ([]Dealt, error) {
	r, n := begin(body, dealtSize)
	if n < f.Fewest() || n > f.Clients() {
		return nil, refuse("a cut has %d deals; a sum needs %d to %d", n, f.Fewest(), f.Clients())
	}
	cut, last := make([]Dealt, n), 0
	for i := range cut {
		cut[i].Place = f.readPlace(r, &last)
		r.Fixed(cut[i].Salt[:])
	}
	return cut, done(r)
}

// begin starts to decode a version byte that is followed by items of size bytes each. It returns
// the number of items.
func begin(body []byte, size int) (*wire.Reader, int) {
	r := wire.NewReader(body)
	if r.Uint8() != version || r.Len()%size != 0 {
		r.Fail()
	}
	return r, r.Len() / size
}

// readPlace reads a client's place. It must be greater than *last, and replaces it. If it is not,
// all later reads of r fail.
func (f *Federation) readPlace(r *wire.Reader, last *int) int {
	place := int(r.Uint16())
	if place <= *last || place > f.Clients() {
		r.Fail()
		return 1
	}
	*last = place
	return place
}

func done(r *wire.Reader) error {
	if !r.Done() {
		return refuse("%v", transcript.ErrForm)
	}
	return nil
}

// A signature is a client's signature on a confirmation or share.
type signature struct {
	place     int
	signature [identity.SignatureSize]byte
}

func (s signature) append(b []byte) []byte { return append(appendPlace(b, s.place), s.signature[:]...) }

func (f *Federation) readSignature(r *wire.Reader, last *int) (s signature) {
	s.place = f.readPlace(r, last)
	r.Fixed(s.signature[:])
	return s
}

// check checks that the client at s.place has signed this header and payload.
func (f *Federation) check(s signature, h signed.Header, payload []byte) error {
	h.Sender = f.key(s.place).Fingerprint()
	if _, err := signed.Verify(signed.Assemble(h, payload, s.signature), f.key(s.place), h); err != nil {
		return refuse("the signature of client %s: %v", f.Name(s.place), err)
	}
	return nil
}
