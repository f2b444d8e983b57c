package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"fedpvi/crypto/identity"
	"fedpvi/internal/durable"
	"fedpvi/internal/private"
)

// AnchorFile is the name of the anchor file in a state directory.
const AnchorFile = "ledger.anchor"

// A mark identifies the ledger state after a commit. Each transaction writes its mark to the
// database. After the commit, the mark is also appended to a second file, the anchor, and synced,
// all before the caller sends a message.
//
// From the database alone, one cannot tell whether its newest transaction is missing. bbolt keeps
// the meta page of the previous transaction, and uses it if the newest meta page has a flipped bit.
// A charge or a study's saved state would then be lost. [Open] therefore compares the mark in the
// database with the anchor. If the anchor is one commit behind, the program has crashed between the
// two writes, and Open updates the anchor. Any other difference is damage.
type mark struct {
	commits uint64 // number of transactions since marks were first written
	head    Hash   // hash of the newest entry; zero if the ledger is empty
}

// markSize is the size of an encoded mark in bytes. The last 8 bytes are the beginning of a SHA-256
// hash of the data holder's public key and the other bytes.
const markSize = 8 + sha256.Size + 8

func (m mark) encode(holder identity.PublicKey) []byte {
	b := binary.BigEndian.AppendUint64(nil, m.commits)
	b = append(b, m.head[:]...)
	sum := sha256.Sum256(append(holder[:], b...))
	return append(b, sum[:8]...)
}

func decodeMark(b []byte, holder identity.PublicKey) (m mark, ok bool) {
	m.commits = binary.BigEndian.Uint64(b)
	copy(m.head[:], b[8:])
	return m, bytes.Equal(b, m.encode(holder))
}

// decodeAnchor returns the newest mark in an anchor. If the last mark is incomplete or wrong, as
// after a crash, it is ignored.
func decodeAnchor(b []byte, holder identity.PublicKey) (newest mark, err error) {
	whole := 0
	for ; len(b) >= markSize; whole, b = whole+1, b[markSize:] {
		m, ok := decodeMark(b[:markSize], holder)
		switch {
		case !ok && whole > 0 && len(b) < 2*markSize:
			return newest, nil
		case !ok:
			return newest, fmt.Errorf("mark %d is damaged, or belongs to another data holder", whole+1)
		case whole > 0 && m.commits != newest.commits+1:
			return newest, fmt.Errorf("mark %d does not follow the previous mark", whole+1)
		}
		newest = m
	}
	if whole == 0 {
		return newest, errors.New("it has no complete mark")
	}
	return newest, nil
}

// marked returns the mark in the database. If an earlier version of the program wrote the database,
// the mark is zero.
func marked(tx *bbolt.Tx, holder identity.PublicKey) (mark, error) {
	b := tx.Bucket(metaBucket).Get(markKey)
	if b == nil {
		return mark{}, nil
	}
	if len(b) == markSize {
		if m, ok := decodeMark(b, holder); ok {
			return m, nil
		}
	}
	return mark{}, errors.New("the mark of its newest transaction is damaged")
}

// An anchor is a store's anchor file, open for writing.
type anchor struct {
	holder identity.PublicKey
	file   durable.NewFile
	newest mark
}

// openAnchor compares the anchor in a directory with db, the newest mark in the database. head and
// previous are the hashes of the two newest entries. openAnchor then replaces the anchor with a
// file that has only this mark. This makes the mark durable and keeps the file short.
func openAnchor(layer durable.Layer, dir string, holder identity.PublicKey, db mark, head, previous Hash) (*anchor, error) {
	path := filepath.Join(dir, AnchorFile)
	if err := compare(path, holder, db, head, previous); err != nil {
		return nil, err
	}
	next := path + ".new"
	if err := layer.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := layer.Create(next)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(db.encode(holder)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := layer.Finish(f, next, path); err != nil {
		return nil, err
	}
	if f, err = layer.Append(path); err != nil {
		return nil, err
	}
	return &anchor{holder, f, db}, nil
}

// compare returns a [*Damaged] if the anchor at path does not match the database mark.
func compare(path string, holder identity.PublicKey, db mark, head, previous Hash) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if db.commits == 0 {
			return nil // there is no anchor before the first commit that writes a mark
		}
		return &Damaged{Path: path, Problem: "the file is missing, but " + File + " has a mark of it"}
	}
	if err != nil {
		return err
	}
	if err := private.CheckFile(path, info); err != nil {
		return err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	newest, err := decodeAnchor(b, holder)
	switch {
	case err != nil:
		return &Damaged{Path: path, Problem: err.Error(), Cause: err}
	case newest.commits > db.commits:
		return &Damaged{Path: path, Problem: fmt.Sprintf("%s is %d transactions older than the anchor: the charges and messages of these transactions are lost", File, newest.commits-db.commits)}
	case newest.commits+1 < db.commits:
		return &Damaged{Path: path, Problem: fmt.Sprintf("it is older than %s, by %d transactions", File, db.commits-newest.commits)}
	case newest.commits == db.commits && newest.head != head,
		newest.commits < db.commits && newest.head != head && newest.head != previous:
		return &Damaged{Path: path, Problem: "it belongs to another ledger than " + File}
	}
	return nil
}

func (a *anchor) append(m mark) error {
	if _, err := a.file.Write(m.encode(a.holder)); err != nil {
		return err
	}
	if err := a.file.Sync(); err != nil {
		return err
	}
	a.newest = m
	return nil
}

func (s *Store) mark(tx *bbolt.Tx) (mark, error) {
	m := mark{commits: s.anchor.newest.commits + 1}
	sequence, head := s.chain.head()
	m.head = head
	if k, v := tx.Bucket(chainBucket).Cursor().Last(); k != nil && binary.BigEndian.Uint64(k) > sequence {
		stamp, err := parseStamp(v, s.chain.holder)
		if err != nil {
			return m, err
		}
		m.head = stamp.Hash
	}
	meta := tx.Bucket(metaBucket)
	return m, errors.Join(meta.Put(formatKey, []byte(format)), meta.Put(markKey, m.encode(s.chain.holder)))
}
