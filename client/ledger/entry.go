package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"time"

	"fedpvi/crypto/identity"
)

// Version is the version of the form of entries.
const Version = 1

// Domain is what entries are signed under.
const Domain identity.Domain = "fedpvi/v1/ledger"

// maxLine is the longest line of a chain in bytes: the largest event in base64, and room.
const maxLine = 128 << 10

// An Entry is one step of a chain: a budget that was made, or a charge. Its hash is the
// SHA-256 of its one encoding, a line of JSON with the fields as they stand here.
type Entry struct {
	Version  int       `json:"version"`
	Sequence uint64    `json:"sequence"` // from 1
	Previous Hash      `json:"previous"` // of the entry before; zeros in the first
	Time     time.Time `json:"time"`     // of the holder's clock, which decides nothing
	Program  string    `json:"program"`  // that wrote it, and its version
	Dataset  string    `json:"dataset"`
	Budget   *Budget   `json:"budget,omitempty"`
	Charge   *Charge   `json:"charge,omitempty"`
}

// A Charge is the cost of one answer to a coordinator.
type Charge struct {
	Study    Hash   `json:"study"`    // of the document
	Protocol Hash   `json:"protocol"` // of what follows from it
	Roster   Hash   `json:"roster"`   // who took part
	Ask      uint64 `json:"ask"`      // number of the question, from 1
	View     string `json:"view"`     // of the observer against whom it is accounted
	Policy   Hash   `json:"policy"`   // of the holder's policy file
	Records  Hash   `json:"records"`  // of the file that was used; see NameRecords
	Event    []byte `json:"event"`    // see accountant.MarshalEvent

	// What the event costs, and what has been spent with it, in the unit of the filter, and
	// of Gaussian filters the max divergence to the exact Gaussian release.
	Cost            float64 `json:"cost"`
	Spent           float64 `json:"spent"`
	SpentDivergence float64 `json:"spent_divergence"`
}

// A Stamp is an entry as it is kept: with the hash of the envelope that a charge pays for,
// and the holder's signature over both. The envelope itself names the hash of the entry, so
// that it cannot be in the entry.
type Stamp struct {
	Entry    Entry
	Hash     Hash // of the entry
	Envelope Hash // zeros for a budget, and for noise that was drawn and never sent
	line     []byte
}

// line is how a stamp is written.
type line struct {
	Entry     json.RawMessage `json:"entry"`
	Envelope  Hash            `json:"envelope"`
	Signature signature       `json:"signature"`
}

// encode returns the one encoding of an entry.
func (e Entry) encode() ([]byte, Hash, error) {
	b, err := json.Marshal(e)
	return b, sha256.Sum256(b), err
}

// sign stamps an entry.
func sign(holder *identity.Identity, e Entry, envelope Hash) (Stamp, error) {
	b, hash, err := e.encode()
	if err != nil {
		return Stamp{}, err
	}
	l := line{Entry: b, Envelope: envelope, Signature: holder.Sign(Domain, statement(hash, envelope))}
	whole, err := json.Marshal(l)
	return Stamp{Entry: e, Hash: hash, Envelope: envelope, line: whole}, err
}

func statement(hash, envelope Hash) []byte { return append(hash[:], envelope[:]...) }

var (
	errForm      = errors.New("it is not in the form in which entries are written: it was changed, cut or made by something else")
	errSignature = errors.New("its signature is not the holder's: it was changed, or is of somebody else")
)

// parseStamp reads what sign made for a holder.
func parseStamp(b []byte, holder identity.PublicKey) (Stamp, error) {
	var l line
	var e Entry
	if len(b) > maxLine || decode(b, &l) != nil || decode(l.Entry, &e) != nil {
		return Stamp{}, errForm
	}
	if !canonical(l.Entry, e) || !canonical(b, l) {
		return Stamp{}, errForm
	}
	hash := Hash(sha256.Sum256(l.Entry))
	if !holder.Verify(Domain, statement(hash, l.Envelope), l.Signature) {
		return Stamp{}, errSignature
	}
	return Stamp{Entry: e, Hash: hash, Envelope: l.Envelope, line: b}, nil
}

// decode reads one JSON value and nothing behind it.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errForm
	}
	return nil
}

// canonical reports whether b is how v is written: one test for all that encoding/json
// forgives, so that there is one encoding.
func canonical(b []byte, v any) bool {
	written, err := json.Marshal(v)
	return err == nil && bytes.Equal(written, b)
}
