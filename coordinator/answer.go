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

// A short answer arrives in one message and is decrypted in memory. A long answer arrives in
// pieces, which go to the store. The goroutine of the client's call first decrypts the stored
// answer chunk by chunk to check it. The study's goroutine then reads the answer into memory and
// adds it to the sum. The bytes cannot change in between, because stored pieces are never
// overwritten. If the pieces are dropped, the client must offer the answer again.

// errChanged is returned if the stored bytes of an answer are no longer valid, although they were
// when they were checked.
var errChanged = fmt.Errorf("%w: an answer that was checked cannot be read again", store.ErrDamaged)

// A stored is a complete body in the store, which does not change. It implements
// [transport.Pieces].
type stored struct {
	size int64
	read func(b []byte, from int64) error
}

func (a stored) Size() uint64                    { return uint64(a.size) }
func (a stored) Read(b []byte, from int64) error { return a.read(b, from) }

// ReadAt implements io.ReaderAt.
func (a stored) ReadAt(b []byte, from int64) (int, error) {
	if err := a.read(b, from); err != nil {
		return 0, err
	}
	return len(b), nil
}

// stored gives access to the body of an answer. All pieces of the body must have arrived.
func (s *Study) stored(w *written) stored {
	size := int64(w.release.Body.Size)
	if w.value != nil && w.value.Long() {
		return s.file(w.value)
	}
	return stored{size, func(b []byte, from int64) error {
		return s.look(func(kept store.Study) error { return kept.ReadAnswer(w.key, b, from) })
	}}
}

func (s *Study) file(v *store.Value) stored {
	return stored{v.Size, func(b []byte, from int64) error { return s.hub.store.ReadFile(s.hash, v, b, from) }}
}

// bodyOf returns the size and hash of an answer's body. The client has signed both.
func (s *Study) bodyOf(w *written) (transcript.Body, error) {
	if w.whole != nil {
		return transcript.BodyOf(w.whole), nil
	}
	at, sum := s.stored(w), sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(at, 0, at.size)); err != nil {
		return transcript.Body{}, err
	}
	return transcript.Body{Size: uint64(at.size), Hash: Hash(sum.Sum(nil))}, nil
}

// A payload returns the decrypted bytes of an answer.
type payload func() ([]byte, error)

// opened checks an answer and returns its payload. If the client is at fault, opened returns the
// error as fault. If this machine failed, it returns err.
func (s *Study) opened(w *written) (p payload, fault, err error) {
	body, err := s.bodyOf(w)
	if err != nil {
		return nil, nil, err
	}
	if body != w.release.Body {
		return nil, refuse(transport.Malformed, "the release differs from the signed size and hash: send it again"), nil
	}
	err = s.hub.options.traced("open", func() error {
		if w.whole == nil {
			sealed, err := s.opener.openAt(w.release.Header, s.stored(w))
			p = func() ([]byte, error) { return gathered(sealed) }
			return err
		}
		b, err := s.opener.open(w.release.Header, w.whole)
		p = func() ([]byte, error) { return b, nil }
		return err
	})
	if errors.Is(err, seal.ErrForm) || errors.Is(err, seal.ErrOpen) || errors.Is(err, seal.ErrContext) {
		return nil, malformed("the release", err), nil
	}
	return p, nil, err
}

// gathered decrypts a stored answer that has been checked.
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
