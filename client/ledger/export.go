package ledger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"fedpvi/crypto/identity"
)

// maxEntries is the maximum number of entries that Verify accepts in an export.
const maxEntries = 1 << 22

// A Title is the first line of an exported ledger. It has the number of entries and the last hash,
// so that a reader can tell whether entries are missing at the end.
type Title struct {
	Version int                `json:"version"`
	Holder  identity.PublicKey `json:"holder"`
	Entries uint64             `json:"entries"`
	Head    Hash               `json:"head"`
	Time    time.Time          `json:"time"`
}

// titleDomain is the signature domain of titles.
const titleDomain identity.Domain = "fedpvi/v1/ledger-title"

type titleLine struct {
	Ledger    json.RawMessage `json:"fedpvi_ledger"`
	Signature signature       `json:"signature"`
}

// Export writes the whole ledger as signed lines of JSON: first a title, then the entries. They
// have budgets and charges, but no records.
func (s *Store) Export(w io.Writer, now time.Time) error {
	out := bufio.NewWriter(w)
	var lines [][]byte
	var head Hash
	if err := s.Stamps(func(stamp Stamp) error {
		lines, head = append(lines, stamp.line), stamp.Hash
		return nil
	}); err != nil {
		return err
	}
	title, err := json.Marshal(Title{
		Version: Version, Holder: s.holder.Public(), Entries: uint64(len(lines)), Head: head,
		Time: now.UTC().Truncate(time.Second),
	})
	if err != nil {
		return err
	}
	first, err := json.Marshal(titleLine{title, s.holder.Sign(titleDomain, title)})
	if err != nil {
		return err
	}
	for _, line := range append([][]byte{first}, lines...) {
		if _, err := out.Write(append(line[:len(line):len(line)], '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

// A Report is the result of [Verify].
type Report struct {
	Title       Title                `json:"title"`
	Fingerprint identity.Fingerprint `json:"fingerprint"`
	Accounts    []Account            `json:"accounts"`
}

// Verify reads an export, checks all signatures and hashes, and recomputes all costs. The error is
// a [*Fault] with the number of the invalid entry. The caller must compare the fingerprint in the
// report with the data holder's.
func Verify(r io.Reader) (*Report, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	title, err := readTitle(lines)
	if err != nil {
		return nil, &Fault{Problem: err.Error()}
	}
	c := newChain(title.Holder)
	for lines.Scan() {
		if len(c.heads) == maxEntries {
			return nil, &Fault{Problem: fmt.Sprintf("more than %d entries", maxEntries)}
		}
		if _, err := c.read(bytes.Clone(lines.Bytes())); err != nil {
			return nil, err
		}
	}
	if err := lines.Err(); err != nil {
		return nil, &Fault{Sequence: uint64(len(c.heads)) + 1, Problem: err.Error()}
	}
	if entries, head := c.head(); entries != title.Entries || head != title.Head {
		return nil, &Fault{Problem: fmt.Sprintf("it has %d entries, but its title states %d: lines are missing or were added", entries, title.Entries)}
	}
	return &Report{Title: title, Fingerprint: title.Holder.Fingerprint(), Accounts: c.summary()}, nil
}

func readTitle(lines *bufio.Scanner) (Title, error) {
	if !lines.Scan() {
		return Title{}, errors.Join(lines.Err(), errors.New("it is empty"))
	}
	var l titleLine
	var t Title
	if decode(lines.Bytes(), &l) != nil || decode(l.Ledger, &t) != nil {
		return Title{}, errors.New("the first line is not the title of a ledger: it was changed, cut short, or written by another program")
	}
	if !canonical(lines.Bytes(), l) || !canonical(l.Ledger, t) {
		return Title{}, errors.New("the first line is not encoded as a title: it was changed")
	}
	if t.Version != Version {
		return Title{}, fmt.Errorf("version %d is not supported, only %d: a newer program wrote it, so use that one", t.Version, Version)
	}
	if _, err := identity.ParsePublicKey(t.Holder[:]); err != nil {
		return Title{}, err
	}
	if !t.Holder.Verify(titleDomain, l.Ledger, l.Signature) {
		return Title{}, errors.New("the title is not signed by the data holder: it was changed")
	}
	return t, nil
}
