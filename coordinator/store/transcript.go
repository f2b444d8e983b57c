package store

import (
	"errors"
	"io"
)

// Append stores entry number n of the transcript. If the entry has a plan, ask is the plan's
// number, and otherwise 0.
func (s Study) Append(n uint64, envelope []byte, body *Value, ask uint64) error {
	err := errors.Join(s.part(envelopes).Put(number(n), envelope), s.put(bodies, number(n), body))
	if ask > 0 {
		err = errors.Join(err, s.part(asks).Put(number(ask), number(n)))
	}
	return err
}

// Item returns copies of an entry's envelope and body, or nil if there is no entry with the number
// n.
func (s Study) Item(n uint64) (envelope, body []byte, err error) {
	key := number(n)
	body, err = s.whole(bodies, key)
	return clone(s.part(envelopes).Get(key)), body, err
}

// Envelope returns a copy of the envelope of entry number n, and the size of its body. If there is
// no such entry, the envelope is nil.
func (s Study) Envelope(n uint64) (envelope []byte, body int64) {
	body, _ = s.length(bodies, number(n))
	return clone(s.part(envelopes).Get(number(n))), body
}

// ReadBody fills b with the bytes of an entry's body that start at the offset from.
func (s Study) ReadBody(n uint64, b []byte, from int64) error {
	return s.read(bodies, number(n), b, from)
}

// WriteBody writes the body of an entry to w.
func (s Study) WriteBody(n uint64, w io.Writer) error {
	size, _ := s.length(bodies, number(n))
	b := make([]byte, min(size, 256<<10))
	for at := int64(0); at < size; at += int64(len(b)) {
		b = b[:min(int64(len(b)), size-at)]
		if err := s.ReadBody(n, b, at); err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// Items returns the number of entries in the transcript.
func (s Study) Items() uint64 {
	k, _ := s.part(envelopes).Cursor().Last()
	return readNumber(k)
}

// PlanOf returns the number of the entry that has plan number ask, or 0 if there is none.
func (s Study) PlanOf(ask uint64) uint64 { return readNumber(s.part(asks).Get(number(ask))) }
