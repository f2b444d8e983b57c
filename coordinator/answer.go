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

// An answer that came whole is opened in memory. One that came in pieces is in the store, and may be long: it is
// opened there twice, a chunk after the other. First all of it is checked, its hash against what was signed and
// every chunk, by who calls; then the loop adds it up, and each chunk is checked again before a number of it
// counts. Between the two its pieces do not change: bytes that are there are never written over, and if they
// are dropped, the offer is another.

// encoded is an answer that is in memory or in the store.
type encoded interface {
	Len() int
	Each(f func(part []byte) error) error
}

// whole is an answer in memory.
type whole []byte

func (b whole) Len() int                             { return len(b) }
func (b whole) Each(f func(part []byte) error) error { return f(b) }

// gathered returns the bytes of an answer.
func gathered(m encoded) ([]byte, error) {
	if b, ok := m.(whole); ok {
		return b, nil
	}
	b := make([]byte, 0, m.Len())
	err := m.Each(func(part []byte) error {
		b = append(b, part...)
		return nil
	})
	return b, err
}

// errChanged says that an answer is another than it was when it was checked.
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
	return stored{int64(w.release.Body.Size), func(b []byte, from int64) error {
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

// opened returns what is sealed in an answer, all of which was checked. A fault is one of the answer, an error
// one of this machine.
func (s *Study) opened(w *written) (payload encoded, fault, err error) {
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
			p, err := s.opener.openAt(w.release.Header, at)
			payload = checked{p}
			return err
		}
		p, err := s.opener.open(w.release.Header, w.whole)
		payload = whole(p)
		return err
	})
	switch {
	case errors.Is(err, errDestroyed):
		return nil, nil, refuse(transport.Ended, "%v", err)
	case errors.Is(err, seal.ErrForm), errors.Is(err, seal.ErrOpen), errors.Is(err, seal.ErrContext):
		return nil, malformed("the release", err), nil
	}
	return payload, nil, err
}

// A checked payload is opened again as it is read.
type checked struct{ *seal.Payload }

// Each hands it to f. That it cannot be read again is [errChanged].
func (c checked) Each(f func(part []byte) error) error {
	var own error
	err := c.Payload.Each(func(part []byte) error {
		own = f(part)
		return own
	})
	if err != nil && own == nil {
		return fmt.Errorf("%w: %w", errChanged, err)
	}
	return err
}
