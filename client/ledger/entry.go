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

// Version is the version of the entry format.
const Version = 1

// Domain is the signature domain of ledger entries.
const Domain identity.Domain = "fedpvi/v1/ledger"

// maxLine is the maximum length of an entry's line in bytes. It leaves room for the largest event.
const maxLine = 128 << 10

// An Entry is one step in the ledger: it creates a budget or charges an answer. It is encoded as a
// line of JSON. The fields have the same order as in the struct, so there is only one encoding of
// each entry. Its SHA-256 is the hash of the entry.
type Entry struct {
	Version  int       `json:"version"`
	Sequence uint64    `json:"sequence"` // number of the entry, from 1
	Previous Hash      `json:"previous"` // hash of the previous entry; zeros in the first entry
	Time     time.Time `json:"time"`     // time on this machine's clock; no decision depends on it
	Program  string    `json:"program"`  // name and version of the program that wrote the entry
	Dataset  string    `json:"dataset"`
	Budget   *Budget   `json:"budget,omitempty"`
	Charge   *Charge   `json:"charge,omitempty"`
}

// A Charge records the cost of one answer.
type Charge struct {
	Study    Hash `json:"study"`
	Protocol Hash `json:"protocol"` // hash of the protocol, which follows from the study
	Roster   Hash `json:"roster"`
	// number of the plan, from 1; 0 if the entry corrects earlier charges
	Ask     uint64 `json:"ask"`
	View    string `json:"view"` // name of the observer against whom the cost is computed
	Policy  Hash   `json:"policy"`
	Records Hash   `json:"records"` // keyed hash of the record file; see NameRecords
	Event   []byte `json:"event"`   // event, encoded by accountant.MarshalEvent

	// Cost is the cost of the event, and Spent the sum of all costs on this data set so far. Both
	// are in the unit of the budget's filter. For Gaussian filters, SpentDivergence is the total
	// max divergence between the releases and exact Gaussian ones.
	Cost            float64 `json:"cost"`
	Spent           float64 `json:"spent"`
	SpentDivergence float64 `json:"spent_divergence"`
}

// A Stamp is a signed entry. It has the entry and its hash, the hash of the envelope that the entry
// pays for, and the data holder's signature of both hashes. The hash of the envelope cannot be in
// the entry, because the envelope names the entry.
type Stamp struct {
	Entry    Entry
	Hash     Hash
	Envelope Hash // hash of the envelope that the entry pays for; zeros if none
	line     []byte
}

// line is the JSON form of a [Stamp].
type line struct {
	Entry     json.RawMessage `json:"entry"`
	Envelope  Hash            `json:"envelope"`
	Signature signature       `json:"signature"`
}

// sign signs an entry for the data holder and returns its stamp. The function envelope returns the
// hash of the message that the entry pays for.
func sign(holder *identity.Identity, e Entry, envelope func(head Hash) (Hash, error)) (Stamp, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return Stamp{}, err
	}
	hash := Hash(sha256.Sum256(b))
	paid, err := envelope(hash)
	if err != nil {
		return Stamp{}, err
	}
	whole, err := json.Marshal(line{Entry: b, Envelope: paid, Signature: holder.Sign(Domain, statement(hash, paid))})
	return Stamp{Entry: e, Hash: hash, Envelope: paid, line: whole}, err
}

func statement(hash, envelope Hash) []byte { return append(hash[:], envelope[:]...) }

var (
	errForm      = errors.New("it is not encoded as an entry: it was changed, cut short, or written by another program")
	errSignature = errors.New("it is not signed by this data holder: it was changed, or belongs to another data holder")
)

// parseStamp parses a stamp and checks that the data holder has signed it.
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

// decode parses exactly one JSON value. Unknown fields are an error.
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

// canonical reports whether b is the one valid encoding of v.
func canonical(b []byte, v any) bool {
	written, err := json.Marshal(v)
	return err == nil && bytes.Equal(written, b)
}
