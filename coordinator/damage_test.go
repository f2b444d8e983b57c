package coordinator

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/keyfile"
)

func TestDamagedStatesAreRefused(t *testing.T) {
	for name, damage := range map[string]func(s *stand, kept store.Study) error{
		"the last entry": func(_ *stand, kept store.Study) error {
			envelope, body, err := kept.Item(kept.Items())
			check(t, err)
			return kept.Append(kept.Items(), envelope, inDatabase(append(body, 0)), 1)
		},
		"the roster": func(_ *stand, kept store.Study) error {
			envelope, body, err := kept.Item(1)
			check(t, err)
			return kept.Append(1, envelope, inDatabase(bytes.ToUpper(body)), 0)
		},
		"a client's entry":       func(_ *stand, kept store.Study) error { return kept.Put(store.Entry, "north", []byte("north")) },
		"the state of the round": func(_ *stand, kept store.Study) error { return kept.PutState(inDatabase([]byte("{}"))) },
		"an answer": func(s *stand, kept store.Study) error {
			return kept.PutPiece(store.ReleaseKey{Ask: 1, Client: "north"}, 0, make([]byte, 1000))
		},
	} {
		s := newStand(t)
		check(t, s.north.submit(t.Context(), s.good, 1000))
		hash := s.study.hash
		check(t, s.hub.store.UpdateStudy(hash, func(kept store.Study) error {
			return damage(s, kept)
		}))
		check(t, s.hub.Close())
		hub, err := Open(s.dir, s.options)
		if !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s was changed: %v", name, err)
		}
		if err == nil {
			check(t, hub.Close())
		}
	}
}

// If a study has begun but its saved state is missing, the study must not begin again.
func TestMissingStateIsRefused(t *testing.T) {
	s := newStand(t)
	check(t, s.hub.Close())
	db, err := bbolt.Open(store.Path(s.dir), 0o600, nil)
	check(t, err)
	check(t, db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("studies")).Bucket(s.study.hash[:]).Bucket([]byte("state")).Delete([]byte("now"))
	}))
	check(t, db.Close())
	hub, err := Open(s.dir, s.options)
	if !errors.Is(err, store.ErrDamaged) {
		t.Errorf("opening without the state: %v", err)
	}
	if err == nil {
		check(t, hub.Close())
	}
}

// If one of the coordinator's keys is missing, the coordinator must neither start nor make a new
// key.
func TestLostKeys(t *testing.T) {
	for name, path := range map[string]func(f files, h Hash) string{
		"identity":  func(f files, _ Hash) string { return f.identity() },
		"tls":       func(f files, _ Hash) string { return f.tls() },
		"sealing":   files.sealing,
		"authority": files.authority,
	} {
		s := newStand(t)
		check(t, s.hub.Close())
		lost := path(s.hub.files, s.study.hash)
		check(t, os.Remove(lost))
		if _, err := Open(s.dir, s.options); !errors.Is(err, keyfile.ErrDamaged) || !strings.Contains(err.Error(), "restore") {
			t.Errorf("the coordinator starts without the key %s: %v", name, err)
		}
		if exists(lost) {
			t.Errorf("a new key %s was made", name)
		}
	}
}

// inDatabase returns b as a value that is stored in the database and not in a file.
func inDatabase(b []byte) *store.Value {
	return &store.Value{Size: int64(len(b)), Hash: sha256.Sum256(b), Bytes: append([]byte{}, b...)}
}
