package store

import (
	"bytes"
	"slices"
)

// longValue is the longest value that has one key: bbolt keeps up to four values on one page, and
// writes and copies them all when one is added. Of a longer one the first part has the key, and the others
// the key and the offset.
const longValue = 1 << 20

// putLong keeps a value in the place of what the key had. No key of the part may begin with another.
func (s Study) putLong(part string, key, value []byte) error {
	bucket := s.part(part)
	step := len(value)
	if step > longValue {
		step = pieceValue
		if err := s.atLeast(formatLong); err != nil {
			return err
		}
	}
	if err := bucket.Put(key, value[:step:step]); err != nil {
		return err
	}
	for at := step; at < len(value); at += step {
		end := min(len(value), at+step)
		if err := bucket.Put(append(bytes.Clone(key), number(uint64(at))...), value[at:end:end]); err != nil {
			return err
		}
	}
	c, rest := bucket.Cursor(), append(bytes.Clone(key), number(uint64(len(value)))...)
	for k, _ := c.Seek(rest); bytes.HasPrefix(k, key); k, _ = c.Seek(rest) {
		if err := c.Delete(); err != nil { // of a longer value
			return err
		}
	}
	return nil
}

// long returns a copy of a value; nil if there is none, or if a part of it is missing.
func (s Study) long(part string, key []byte) []byte {
	c := s.part(part).Cursor()
	size := 0
	for k, v := c.Seek(key); bytes.HasPrefix(k, key); k, v = c.Next() {
		if offset := k[len(key):]; len(offset) > 0 && readNumber(offset) != uint64(size) || size == 0 && len(offset) > 0 {
			return nil
		}
		size += len(v)
	}
	k, first := c.Seek(key)
	if !bytes.Equal(k, key) {
		return nil
	}
	value := append(make([]byte, 0, size), first...)
	for k, v := c.Next(); bytes.HasPrefix(k, key); k, v = c.Next() {
		value = append(value, v...)
	}
	return slices.Clip(value)
}
