package seal

import (
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
)

// A Payload reads the encrypted content of a seal. The seal may be in a file, and is never
// completely in memory. Each read decrypts it again, in chunks of 64 KiB. The methods must not be
// called concurrently.
type Payload struct {
	from   *source
	plain  io.ReaderAt
	bound  []byte // context for which the seal was made
	size   int
	length int
	buffer []byte // room for one decrypted chunk
}

// OpenAt is like Open, but the seal is the first length bytes of r. They must not change while the
// Payload is in use. OpenAt authenticates the whole seal before it returns. Its errors are those of
// Open and those of r.
func (k *Key) OpenAt(r io.ReaderAt, length int64, context []byte, size int) (*Payload, error) {
	plain, src, err := k.decrypt(r, length, context, size)
	if err != nil {
		return nil, err
	}
	p := &Payload{from: src, plain: plain, bound: context, size: size}
	p.buffer = make([]byte, min(plainSize(len(context), size), chunkSize))
	u, err := p.each(nil)
	if err != nil {
		return nil, err
	}
	p.length = u.length
	return p, nil
}

// decrypt returns a reader that decrypts and authenticates each chunk as it is read. First, decrypt
// checks the length of the seal and the form of the header, so that a hostile header cannot make
// age allocate or compute more than an honest one does.
func (k *Key) decrypt(from io.ReaderAt, length int64, context []byte, size int) (io.ReaderAt, *source, error) {
	if k.identity == nil {
		return nil, nil, errors.New("opening with a key that was wiped")
	}
	if err := checkSizes(len(context), size); err != nil {
		return nil, nil, err
	}
	if length != int64(SealedSize(len(context), size)) {
		return nil, nil, ErrForm
	}
	src := &source{from: from}
	head := make([]byte, headerSize)
	if _, err := src.ReadAt(head, 0); src.err != nil {
		return nil, nil, src.reason(err)
	}
	if !oneHybridStanza(head) {
		return nil, nil, ErrForm
	}
	plain, n, err := age.DecryptReaderAt(src, length, k.identity)
	if err != nil {
		return nil, nil, src.reason(err)
	}
	if n != int64(plainSize(len(context), size)) {
		return nil, nil, ErrForm
	}
	return plain, src, nil
}

// A source is a reader that remembers its read error, so that it can be told apart from forged
// bytes.
type source struct {
	from io.ReaderAt
	err  error
}

// ReadAt implements [io.ReaderAt].
func (s *source) ReadAt(b []byte, off int64) (int, error) {
	n, err := s.from.ReadAt(b, off)
	if n < len(b) {
		s.err = err
	}
	return n, err
}

// reason returns the error to report if age returns an error. This is the read error or, if there
// is none, ErrOpen.
func (s *source) reason(err error) error {
	if s.err != nil {
		return fmt.Errorf("reading sealed bytes: %w", s.err)
	}
	if err != nil {
		return ErrOpen
	}
	return nil
}

// Len returns the length of the payload in bytes.
func (p *Payload) Len() int { return p.length }

// Each calls f with the authenticated parts of the payload, in order. It stops at the first error
// from f. A part is valid only until f returns. If the encrypted bytes have changed since OpenAt,
// Each returns [ErrOpen] or a read error.
func (p *Payload) Each(f func(part []byte) error) error {
	_, err := p.each(f)
	return err
}

// each decrypts all chunks. f may be nil.
func (p *Payload) each(f func(part []byte) error) (*unpacker, error) {
	total := plainSize(len(p.bound), p.size)
	u := &unpacker{context: p.bound, size: p.size, rest: total}
	defer clear(p.buffer)
	for at := 0; at < total; at += chunkSize {
		chunk := p.buffer[:min(total-at, chunkSize)]
		if n, err := p.plain.ReadAt(chunk, int64(at)); n < len(chunk) {
			return nil, p.from.reason(err)
		}
		part := u.take(chunk)
		if f == nil || len(part) == 0 {
			continue
		}
		if err := f(part); err != nil {
			return nil, err
		}
	}
	return u, u.fault
}
