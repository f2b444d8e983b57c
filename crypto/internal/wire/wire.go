// Package wire is the one binary encoding of everything that is signed or sealed:
// numbers of fixed width, big-endian, and byte strings behind their length. A value
// has one encoding, and one encoding has one value.
package wire

import "encoding/binary"

// AppendUint16 appends n in two bytes.
func AppendUint16(b []byte, n uint16) []byte { return binary.BigEndian.AppendUint16(b, n) }

// AppendUint64 appends n in eight bytes.
func AppendUint64(b []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(b, n) }

// AppendBytes appends the length of s in four bytes, and s. What is longer than four
// bytes can say is refused by the bounds of the caller, long before.
func AppendBytes[S string | []byte](b []byte, s S) []byte {
	return append(AppendLength(b, len(s)), s...)
}

// AppendLength appends what AppendBytes puts before so many bytes.
func AppendLength(b []byte, n int) []byte { return binary.BigEndian.AppendUint32(b, uint32(n)) }

// A Reader takes an encoding apart without copying or allocating. The first read
// that fails makes all that follow fail, so that one look at Done at the end is enough.
type Reader struct {
	rest   []byte
	failed bool
}

// NewReader returns a reader of b, which it never changes.
func NewReader(b []byte) *Reader { return &Reader{rest: b} }

// Take returns the next n bytes, part of what is read, or nil.
func (r *Reader) Take(n int) []byte {
	if r.failed || n < 0 || n > len(r.rest) {
		r.failed = true
		return nil
	}
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

// Fixed fills dst with the next bytes, or leaves it alone.
func (r *Reader) Fixed(dst []byte) { copy(dst, r.Take(len(dst))) }

// Uint8 returns the next byte, or 0.
func (r *Reader) Uint8() uint8 {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint16 returns the number in the next two bytes, or 0.
func (r *Reader) Uint16() uint16 {
	if b := r.Take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

// Uint64 returns the number in the next eight bytes, or 0.
func (r *Reader) Uint64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// Bytes returns a byte string of at most limit bytes, part of what is read, or nil. A
// length beyond the limit, or beyond what there is, fails before anything is made of it.
func (r *Reader) Bytes(limit int) []byte {
	n := r.Length(limit)
	if r.failed {
		return nil
	}
	return r.Take(n)
}

// Length returns how long the byte string is that follows, whose bytes need not be there, or 0. A
// length beyond the limit fails.
func (r *Reader) Length(limit int) int {
	b := r.Take(4)
	if b == nil {
		return 0
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(limit) {
		r.failed = true
		return 0
	}
	return int(n)
}

// Len returns how many bytes are left.
func (r *Reader) Len() int { return len(r.rest) }

// Fail makes the reader fail: what was read has the right form and no meaning.
func (r *Reader) Fail() { r.failed = true }

// Failed reports whether a read failed.
func (r *Reader) Failed() bool { return r.failed }

// Done reports whether everything was read and no read failed.
func (r *Reader) Done() bool { return !r.failed && len(r.rest) == 0 }
