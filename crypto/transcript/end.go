package transcript

import (
	"cmp"
	"io"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/signed"
)

// A Receipt declares that a client's answer was accepted. It proves that the client has sent this
// answer and charged it to its ledger.
type Receipt struct {
	Client     identity.Name
	Ask        uint64
	Release    Hash // SHA-256 of the answer's envelope
	LedgerSeq  uint64
	LedgerHead Hash
}

// MaxReceipts is the maximum number of receipts in a study.
const MaxReceipts = 1 << 22

// A Closing is the body of the last entry of a completed study.
type Closing struct {
	Result   []byte    // posterior, as the study's last phase encodes it
	Receipts []Receipt // receipts, ordered by plan, then client
}

// ReceiptOf returns the receipt for an answer.
func ReceiptOf(client identity.Name, r signed.Header, release Hash) Receipt {
	return Receipt{client, r.Round, release, r.LedgerSeq, r.LedgerHead}
}

const receiptSize = 4 + 1 + 8 + 32 + 8 + 32

// WriteClosing writes the encoding of a Closing to w. The function result must write the field
// Result, which has exactly size bytes.
func WriteClosing(w io.Writer, size int, result func(io.Writer) error, receipts []Receipt) error {
	if _, err := w.Write(wire.AppendLength([]byte{version}, size)); err != nil {
		return err
	}
	if err := result(w); err != nil {
		return err
	}
	_, err := w.Write(appendReceipts(nil, receipts))
	return err
}

func appendReceipts(b []byte, all []Receipt) []byte {
	b = wire.AppendUint64(b, uint64(len(all)))
	for _, r := range all {
		b = wire.AppendBytes(b, string(r.Client))
		b = append(wire.AppendUint64(b, r.Ask), r.Release[:]...)
		b = append(wire.AppendUint64(b, r.LedgerSeq), r.LedgerHead[:]...)
	}
	return b
}

// ParseClosing parses the body of an End entry. The result shares memory with b.
func ParseClosing(b []byte) (Closing, error) {
	r := versioned(b)
	var c Closing
	c.Result = r.Bytes(MaxBody)
	n := r.Uint64()
	if n > MaxReceipts || n > uint64(r.Len()/receiptSize) {
		return Closing{}, ErrForm
	}
	c.Receipts = make([]Receipt, n)
	for i := range c.Receipts {
		c.Receipts[i] = readReceipt(r)
		if i > 0 && c.Receipts[i-1].Compare(c.Receipts[i]) >= 0 {
			r.Fail()
		}
	}
	if !r.Done() {
		return Closing{}, ErrForm
	}
	return c, nil
}

func readReceipt(r *wire.Reader) (out Receipt) {
	name, err := identity.ParseName(string(r.Bytes(identity.MaxName)))
	if err != nil {
		r.Fail()
	}
	out.Client, out.Ask = name, r.Uint64()
	r.Fixed(out.Release[:])
	out.LedgerSeq = r.Uint64()
	r.Fixed(out.LedgerHead[:])
	return out
}

// Compare orders receipts by plan, then client, as in a Closing.
func (r Receipt) Compare(s Receipt) int {
	return cmp.Or(cmp.Compare(r.Ask, s.Ask), cmp.Compare(r.Client, s.Client))
}

// An Abortion is the body of an Abort entry or an Exclude entry.
type Abortion struct {
	By     identity.Name // party that aborted the study, or client that is excluded
	Reason string
}

// Bytes returns the encoding of a.
func (a Abortion) Bytes() []byte {
	return wire.AppendBytes(wire.AppendBytes([]byte{version}, string(a.By)), a.Reason)
}

// ParseAbortion parses the body of an Abort entry or an Exclude entry.
func ParseAbortion(b []byte) (Abortion, error) {
	r := versioned(b)
	name, err := identity.ParseName(string(r.Bytes(identity.MaxName)))
	reason := string(r.Bytes(MaxReason))
	if err != nil || !r.Done() {
		return Abortion{}, ErrForm
	}
	if _, err := Reason(reason); err != nil {
		return Abortion{}, err
	}
	return Abortion{name, reason}, nil
}
