package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// errPieces is returned if the database lacks pieces of an answer.
var errPieces = fmt.Errorf("%w: pieces of an answer are missing", ErrDamaged)

// A ReleaseKey identifies a client's message for a plan. With secure aggregation, each step has its
// own message.
type ReleaseKey struct {
	Ask    uint64 // number of the plan; 0 for the keys of a client
	Client string
	Step   Step
}

// A Step is the step of secure aggregation to which a message belongs.
type Step uint8

// These are the steps of secure aggregation in which clients send messages. Studies without secure
// aggregation have only Answering.
const (
	Answering  Step = iota // an answer to a plan, which is a deal with secure aggregation
	Confirming             // a confirmation of a cut
	Sharing                // a share of a sum
)

// stepShift is the number of low bits in a key for the plan number. The high bits are the step.
const stepShift = 56

// prefix returns the first eight bytes of the database keys for a plan and step.
func prefix(ask uint64, s Step) []byte { return number(uint64(s)<<stepShift | ask) }

// bytes returns the database key. Keys are sorted by step, plan and client, and no key is a prefix
// of another.
func (k ReleaseKey) bytes() []byte { return append(append(prefix(k.Ask, k.Step), k.Client...), 0) }

func readKey(b []byte) (ReleaseKey, error) {
	if len(b) < 9 {
		return ReleaseKey{}, fmt.Errorf("%w: the name of an answer", ErrDamaged)
	}
	n := readNumber(b[:8])
	return ReleaseKey{n & (1<<stepShift - 1), string(b[8 : len(b)-1]), Step(n >> stepShift)}, nil
}

func readNumber(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// PutOffer stores the envelope of an answer whose body has not completely arrived.
func (s Study) PutOffer(k ReleaseKey, envelope []byte) error {
	return s.part(offers).Put(k.bytes(), envelope)
}

// pieceValue is the maximum size in bytes of a database value that is a piece of an answer. A bbolt
// page has at least two values, and adding a value rewrites its page.
const pieceValue = 32 << 10

// PutPiece stores a piece of an answer's body.
func (s Study) PutPiece(k ReleaseKey, offset int64, piece []byte) error {
	bucket := s.part(pieces)
	for len(piece) > 0 {
		n := min(len(piece), pieceValue)
		if err := bucket.Put(partKey(k.bytes(), offset), piece[:n:n]); err != nil {
			return err
		}
		offset, piece = offset+int64(n), piece[n:]
	}
	return nil
}

// PutBody stores the whole body of an answer.
func (s Study) PutBody(k ReleaseKey, v *Value) error {
	if v.Long() {
		return s.put(pieces, k.bytes(), v)
	}
	return s.PutPiece(k, 0, v.Bytes)
}

// ReadAnswer fills b with the bytes of an answer's body that start at the offset from. If some have
// not arrived, it returns an error.
func (s Study) ReadAnswer(k ReleaseKey, b []byte, from int64) error {
	prefix := k.bytes()
	if s.file(pieces, prefix) != nil {
		return s.read(pieces, prefix, b, from)
	}
	c := s.part(pieces).Cursor()
	at, piece := c.Seek(partKey(prefix, from))
	if !bytes.Equal(at, partKey(prefix, from)) { // no piece begins at from, so it lies within the piece before
		if at == nil {
			at, piece = c.Last()
		} else {
			at, piece = c.Prev()
		}
	}
	for ; len(b) > 0; at, piece = c.Next() {
		if !bytes.HasPrefix(at, prefix) {
			return errPieces
		}
		before := from - int64(readNumber(at[len(prefix):]))
		if before < 0 || before >= int64(len(piece)) {
			return errPieces
		}
		n := copy(b, piece[before:])
		b, from = b[n:], from+int64(n)
	}
	return nil
}

// Have returns the number of bytes of an answer's body that have arrived.
func (s Study) Have(k ReleaseKey) (size int64) {
	prefix := k.bytes()
	if v := s.file(pieces, prefix); v != nil {
		return v.Size
	}
	c := s.part(pieces).Cursor()
	for at, piece := c.Seek(prefix); bytes.HasPrefix(at, prefix); at, piece = c.Next() {
		size += int64(len(piece))
	}
	return size
}

// Take stores the envelope of an accepted answer. The pieces remain until the plan is closed.
func (s Study) Take(k ReleaseKey, envelope []byte) error {
	return errors.Join(s.part(offers).Delete(k.bytes()), s.part(releases).Put(k.bytes(), envelope))
}

// Release returns the envelope of the accepted answer that has the key k, or nil.
func (s Study) Release(k ReleaseKey) []byte { return s.part(releases).Get(k.bytes()) }

// DropOffer deletes a message's envelope and the part of its body that has arrived.
func (s Study) DropOffer(k ReleaseKey) error {
	return errors.Join(s.part(offers).Delete(k.bytes()), s.DropBody(k))
}

// DropBody deletes the body of one answer.
func (s Study) DropBody(k ReleaseKey) error { return s.dropPrefix(pieces, k.bytes()) }

// CloseAsk deletes everything for a plan that is no longer needed: all message bodies, all
// incomplete messages, and the envelopes of confirmations and shares. The envelopes of accepted
// answers remain.
func (s Study) CloseAsk(ask uint64) error {
	err := errors.Join(s.dropPrefix(releases, prefix(ask, Confirming)), s.dropPrefix(releases, prefix(ask, Sharing)))
	for _, step := range []Step{Answering, Confirming, Sharing} {
		err = errors.Join(err, s.dropPrefix(pieces, prefix(ask, step)), s.dropPrefix(offers, prefix(ask, step)))
	}
	return err
}

// DropAnswers deletes the envelopes of all answers to a plan.
func (s Study) DropAnswers(ask uint64) error { return s.dropPrefix(releases, prefix(ask, Answering)) }

func (s Study) dropPrefix(part string, prefix []byte) error {
	c := s.part(part).Cursor()
	for at, _ := c.Seek(prefix); at != nil && bytes.HasPrefix(at, prefix); at, _ = c.Seek(prefix) {
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return s.dropFiles(fileKey(part, prefix), false)
}

// Releases calls f with the envelope of each accepted answer to plan number first (at least 1) and
// to later plans, sorted by plan, then client.
func (s Study) Releases(first uint64, f func(k ReleaseKey, envelope []byte) error) error {
	return s.each(releases, prefix(first, Answering), prefix(0, Confirming), f)
}

// Messages calls f with the envelope of each accepted message for a plan and step, in client order.
func (s Study) Messages(ask uint64, step Step, f func(k ReleaseKey, envelope []byte) error) error {
	return s.each(releases, prefix(ask, step), prefix(ask+1, step), f)
}

// Shares raises the database to formatShares, so that it is refused by earlier programs, which do
// not know the messages of secure aggregation.
func (s Study) Shares() error { return s.atLeast(formatShares) }

// Changes raises the database to formatChanges, so that it is refused by earlier programs, which do
// not know that keys can change.
func (s Study) Changes() error { return s.atLeast(formatChanges) }

// Offers calls f with the envelope of each incomplete answer, sorted by plan, then client.
func (s Study) Offers(f func(k ReleaseKey, envelope []byte) error) error {
	return s.each(offers, nil, nil, f)
}

// each calls f with the messages whose keys k satisfy from ≤ k < before. If before is nil, there is
// no upper limit.
func (s Study) each(part string, from, before []byte, f func(k ReleaseKey, envelope []byte) error) error {
	c := s.part(part).Cursor()
	for k, v := c.Seek(from); k != nil && (before == nil || bytes.Compare(k, before) < 0); k, v = c.Next() {
		key, err := readKey(k)
		if err == nil {
			err = f(key, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// PutEvidence stores an envelope that contradicts the client's earlier answer. It keeps only the
// first for each plan and client, so that a client cannot fill the disk, and reports whether this
// is the first.
func (s Study) PutEvidence(k ReleaseKey, envelope []byte) (first bool, err error) {
	b := s.part(evidence)
	if b.Get(k.bytes()) != nil {
		return false, nil
	}
	return true, b.Put(k.bytes(), envelope)
}

// Evidence calls f with each envelope that PutEvidence stored.
func (s Study) Evidence(f func(k ReleaseKey, envelope []byte) error) error {
	return s.each(evidence, nil, nil, f)
}
