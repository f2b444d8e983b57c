package seal

import (
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
)

// A Payload is what was sealed somewhere, such as on a disk, where it is opened again whenever
// it is read, a chunk of 64 KiB after the other. It is for one at once.
type Payload struct {
	from   io.ReaderAt
	aead   cipher.AEAD
	bound  []byte // the context
	size   int
	length int
	buffer []byte // of a chunk, opened in its own place
}

// OpenAt is Open for length bytes that are read from somewhere, none of which may change as long as the
// payload is used. It reads and authenticates all of them before it returns a payload, and refuses
// what Open refuses for the same reasons. An error of reading is none of those.
func (k *Key) OpenAt(from io.ReaderAt, length int64, context []byte, size int) (*Payload, error) {
	if k.identity == nil {
		return nil, errors.New("opening with a key that was wiped")
	}
	if err := checkSizes(len(context), size); err != nil {
		return nil, err
	}
	if length != int64(SealedSize(len(context), size)) {
		return nil, ErrForm
	}
	p := &Payload{from: from, bound: context, size: size, buffer: make([]byte, min(length, chunkSize+tagSize))}
	head := p.buffer[:chunksAt]
	if err := p.read(head, 0); err != nil {
		return nil, err
	}
	if !oneHybridStanza(head) {
		return nil, ErrForm
	}
	var err error
	if p.aead, err = k.payloadCipher(head); err != nil {
		return nil, err
	}
	u, err := p.each(nil)
	if err != nil {
		return nil, err
	}
	p.length = u.length
	return p, nil
}

// Len is how many bytes the payload has.
func (p *Payload) Len() int { return p.length }

// Each hands the payload to f in order, in parts that are good until f returns, and stops at the first error
// of f, which it returns. Every part is authenticated again before f has it: what is
// [ErrOpen] now, or cannot be read, has changed since OpenAt.
func (p *Payload) Each(f func(part []byte) error) error {
	_, err := p.each(f)
	return err
}

// each opens all chunks, and hands what is in them of the payload to f, if there is one.
func (p *Payload) each(f func(part []byte) error) (*unpacker, error) {
	rest := plainSize(len(p.bound), p.size)
	u := &unpacker{context: p.bound, size: p.size, rest: rest}
	defer clear(p.buffer)
	at := int64(chunksAt)
	for n := 0; rest > 0; n++ {
		chunk := p.buffer[:min(rest, chunkSize)+tagSize]
		if err := p.read(chunk, at); err != nil {
			return nil, err
		}
		at += int64(len(chunk))
		rest -= len(chunk) - tagSize
		plain, err := openChunk(p.aead, chunk[:0], n, chunk, rest == 0)
		if err != nil {
			return nil, ErrOpen
		}
		part := u.take(plain)
		if f == nil || len(part) == 0 {
			continue
		}
		if err := f(part); err != nil {
			return nil, err
		}
	}
	return u, u.fault
}

func (p *Payload) read(b []byte, at int64) error {
	if n, err := p.from.ReadAt(b, at); n < len(b) {
		return fmt.Errorf("reading what is sealed: %w", err)
	}
	return nil
}
