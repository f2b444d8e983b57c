package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"fedpvi/transport"
)

func (s *Store) sealParts(c Change) (map[string][]byte, error) {
	sealed := make(map[string][]byte, len(c.Parts))
	for name, part := range c.Parts {
		if part == nil {
			continue
		}
		b, err := s.key.SealState(purpose(c.Study, name), part)
		if err != nil {
			return nil, fmt.Errorf("ledger: sealing %s: %w", name, err)
		}
		sealed[name] = b
	}
	return sealed, nil
}

func purpose(study Hash, name string) string { return "fedpvi client 1 " + study.String() + " " + name }

// apply writes a change to the database. sealed has the encrypted new values.
func (s *Store) apply(tx *bbolt.Tx, c Change, sealed map[string][]byte) error {
	if c.Settled > 0 {
		if err := tx.Bucket(outboxBucket).Delete(outboxKey(c.Study, c.Settled)); err != nil {
			return err
		}
	}
	if len(c.Parts) == 0 {
		return nil
	}
	b, err := tx.Bucket(studiesBucket).CreateBucketIfNotExists(c.Study[:])
	if err != nil {
		return err
	}
	for name, part := range c.Parts {
		if part == nil {
			err = errors.Join(err, b.Delete([]byte(name)))
		} else {
			err = errors.Join(err, b.Put([]byte(name), sealed[name]))
		}
	}
	return err
}

// Part decrypts a value of a study's state. It reports whether there is such a value.
func (s *Store) Part(study Hash, name string) (part []byte, ok bool, err error) {
	var sealed []byte
	err = s.view(func(tx *bbolt.Tx) error {
		if b := tx.Bucket(studiesBucket).Bucket(study[:]); b != nil {
			sealed = append(sealed, b.Get([]byte(name))...)
		}
		return nil
	})
	if err != nil || sealed == nil {
		return nil, false, err
	}
	part, err = s.key.OpenState(purpose(study, name), sealed)
	if err != nil {
		return nil, false, &Damaged{Path: s.path, Problem: fmt.Sprintf("the part %s of study %.12s: %v", name, study, err), Cause: err}
	}
	return part, true, nil
}

// Studies returns the hashes of all studies that have a state.
func (s *Store) Studies() ([]Hash, error) {
	var all []Hash
	err := s.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(studiesBucket).ForEachBucket(func(k []byte) error {
			if len(k) != len(Hash{}) {
				return errors.New("a study whose name is not a hash")
			}
			all = append(all, Hash(k))
			return nil
		})
	})
	return all, err
}

// Unsent returns the stored answer to plan ask, if there is one. An answer is stored until the
// outcome of its plan is known.
func (s *Store) Unsent(study Hash, ask uint64) (item transport.Item, ok bool, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		b := tx.Bucket(outboxBucket).Get(outboxKey(study, ask))
		if b == nil {
			return nil
		}
		ok = true
		item, err = decodeItem(b)
		return err
	})
	return item, ok, err
}

// Outbox returns the numbers of the plans whose answers are stored, in increasing order.
func (s *Store) Outbox(study Hash) ([]uint64, error) {
	var asks []uint64
	err := s.view(func(tx *bbolt.Tx) error {
		c := tx.Bucket(outboxBucket).Cursor()
		for k, _ := c.Seek(study[:]); len(k) == len(study)+8 && Hash(k[:len(study)]) == study; k, _ = c.Next() {
			asks = append(asks, binary.BigEndian.Uint64(k[len(study):]))
		}
		return nil
	})
	return asks, err
}

func (s *Store) view(f func(tx *bbolt.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	return s.read(f)
}

func (s *Store) read(f func(tx *bbolt.Tx) error) error {
	return s.whole(func() error { return s.db.View(f) })
}

func outboxKey(study Hash, ask uint64) []byte { return binary.BigEndian.AppendUint64(study[:], ask) }

// encodeItem encodes the length of the envelope (four bytes), the envelope, and the body.
func encodeItem(i transport.Item) []byte {
	b := make([]byte, 0, 4+len(i.Envelope)+len(i.Body))
	b = binary.BigEndian.AppendUint32(b, uint32(len(i.Envelope)))
	return append(append(b, i.Envelope...), i.Body...)
}

func decodeItem(b []byte) (transport.Item, error) {
	if len(b) < 4 || uint64(binary.BigEndian.Uint32(b)) > uint64(len(b)-4) {
		return transport.Item{}, errors.New("the message to send is cut short")
	}
	n := 4 + int(binary.BigEndian.Uint32(b))
	return transport.Item{Envelope: append([]byte(nil), b[4:n]...), Body: append([]byte(nil), b[n:]...)}, nil
}
