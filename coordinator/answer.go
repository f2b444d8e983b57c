package coordinator

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

// An answer that came whole is opened in memory. One that came in pieces may be long: it is in the store, and its
// seal is checked there chunk by chunk, by the goroutine of the call, before the loop reads it into memory and
// adds it up. Its bytes do not change between the two: bytes that have come are never written over, and if they
// are dropped, the offer is another one.

// errChanged is returned for an answer that was checked and cannot be read again.
var errChanged = fmt.Errorf("%w: an answer that was checked cannot be read again", store.ErrDamaged)

// A stored answer is the body of one of which all pieces are in the store.
type stored struct {
	size int64
	read func(b []byte, from int64) error
}

// ReadAt reads some of it.
func (a stored) ReadAt(b []byte, from int64) (int, error) {
	if err := a.read(b, from); err != nil {
		return 0, err
	}
	return len(b), nil
}

// stored returns the body of an answer all of which has come.
func (s *Study) stored(w *written) stored {
	size := int64(w.release.Body.Size)
	if w.value != nil && w.value.Long() {
		return stored{size, func(b []byte, from int64) error { return s.hub.store.ReadFile(s.hash, w.value, b, from) }}
	}
	return stored{size, func(b []byte, from int64) error {
		return s.look(func(kept store.Study) error { return kept.ReadAnswer(w.key, b, from) })
	}}
}

// body returns what is signed of a body: its size and hash.
func (a stored) body() (transcript.Body, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(a, 0, a.size)); err != nil {
		return transcript.Body{}, err
	}
	return transcript.Body{Size: uint64(a.size), Hash: Hash(sum.Sum(nil))}, nil
}

// A payload returns the opened bytes of an answer.
type payload func() ([]byte, error)

// opened checks an answer, and returns its payload. A fault is one of the answer, an error
// one of this machine.
func (s *Study) opened(w *written) (p payload, fault, err error) {
	var body transcript.Body
	at := s.stored(w)
	if w.whole != nil {
		body = transcript.BodyOf(w.whole)
	} else if body, err = at.body(); err != nil {
		return nil, nil, err
	}
	if body != w.release.Body {
		return nil, refuse(transport.Malformed, "the bytes of the release are not those that were signed: send them again"), nil
	}
	err = s.hub.options.traced("open", func() error {
		if w.whole == nil {
			sealed, err := s.opener.openAt(w.release.Header, at)
			p = func() ([]byte, error) { return gathered(sealed) }
			return err
		}
		b, err := s.opener.open(w.release.Header, w.whole)
		p = func() ([]byte, error) { return b, nil }
		return err
	})
	switch {
	case errors.Is(err, errDestroyed):
		return nil, nil, refuse(transport.Ended, "%v", err)
	case errors.Is(err, seal.ErrForm), errors.Is(err, seal.ErrOpen), errors.Is(err, seal.ErrContext):
		return nil, malformed("the release", err), nil
	}
	return p, nil, err
}

// gathered returns the bytes of a payload in the store, which was checked before.
func gathered(p *seal.Payload) ([]byte, error) {
	b := make([]byte, 0, p.Len())
	err := p.Each(func(part []byte) error {
		b = append(b, part...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errChanged, err)
	}
	return b, nil
}
