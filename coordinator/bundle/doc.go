// Package bundle writes and verifies the complete record of a study in one file: the study
// document, the clients' consents, the envelopes of their answers, and the transcript from the
// roster to the posterior. Every part is signed by its author. The last entry of the transcript has
// a receipt for each answer.
//
// [Verify] recomputes the study from the opened sums, without a network and without a key. Of an answer, a bundle contains only the envelope, with the hash of the sealed body.
//
// # Format
//
// Numbers are big-endian. A byte string follows its length, which has eight bytes.
//
//	magic "fedpvi-bundle-1\n"
//	bytes the study document
//	8     number of consents; for each: bytes name, bytes envelope
//	8     number of answers; for each: 8 plan, bytes name, bytes envelope
//	8     number of entries; for each: bytes envelope, bytes body, and the releases that follow it
//	32    SHA-256 of everything before
//
// If the releases of an outcome are too long for the body of its entry, clients fetch them one by
// one. In a bundle they follow the body of the entry, as one byte string for each client, in the
// order of the clients. An element of a release is a signed integer of 8 bytes, with the lowest
// byte first.
package bundle

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"

	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
)

const magic = "fedpvi-bundle-1\n"

// Limits that Verify enforces.
const (
	maxDocument = 4 << 20
	maxName     = 64
	maxEnvelope = signed.MaxPayload + signed.Overhead
	maxClients  = 1 << 10
	maxEntries  = 1 << 24
)

// ErrForm is returned if a file is not a complete bundle.
var ErrForm = errors.New("not a complete bundle: it was changed, cut short, or written by another program")

// A Writer writes a bundle. Its methods must be called in the order of this file. After an error,
// later calls have no effect, and Close returns the error.
type Writer struct {
	w   io.Writer
	sum hash.Hash
	err error
}

// NewWriter returns a writer for the bundle of a study, and writes the study document.
func NewWriter(w io.Writer, document []byte) *Writer {
	out := &Writer{w: w, sum: sha256.New()}
	out.raw([]byte(magic))
	out.bytes(document)
	return out
}

func (w *Writer) raw(b []byte) {
	if w.err != nil {
		return
	}
	w.sum.Write(b)
	_, w.err = w.w.Write(b)
}

func (w *Writer) number(n uint64) { w.raw(binary.BigEndian.AppendUint64(nil, n)) }

func (w *Writer) bytes(b []byte) {
	w.number(uint64(len(b)))
	w.raw(b)
}

// Consents writes the number of consents. The caller must then call Consent n times.
func (w *Writer) Consents(n int) { w.number(uint64(n)) }

// Consent writes the message with which a client consents to the study.
func (w *Writer) Consent(client string, envelope []byte) {
	w.bytes([]byte(client))
	w.bytes(envelope)
}

// Answers writes the number of answers. The caller must then call Answer n times.
func (w *Writer) Answers(n int) { w.number(uint64(n)) }

// Answer writes the envelope of a client's answer to plan number ask.
func (w *Writer) Answer(ask uint64, client string, envelope []byte) {
	w.number(ask)
	w.bytes([]byte(client))
	w.bytes(envelope)
}

// Entries writes the number of entries of the transcript. The caller must then call Entry n times.
func (w *Writer) Entries(n uint64) { w.number(n) }

// Entry writes an entry of the transcript.
func (w *Writer) Entry(envelope, body []byte) {
	w.bytes(envelope)
	w.bytes(body)
}

// Release returns a writer for a release that clients fetch. The caller must write exactly size
// bytes. The releases of an outcome follow its entry, in the order of their clients.
func (w *Writer) Release(size int64) io.Writer {
	w.number(uint64(size))
	return releaseWriter{w}
}

type releaseWriter struct{ *Writer }

func (w releaseWriter) Write(b []byte) (int, error) {
	w.raw(b)
	return len(b), w.err
}

// Close writes the hash of the bundle at its end.
func (w *Writer) Close() error {
	if w.err == nil {
		_, w.err = w.w.Write(w.sum.Sum(nil))
	}
	return w.err
}

// A reader parses a bundle. After an error, all calls return zero values.
type reader struct {
	r   io.Reader
	sum hash.Hash
	err error
}

func newReader(r io.Reader) *reader {
	in := &reader{r: r, sum: sha256.New()}
	if string(in.take(uint64(len(magic)))) != magic && in.err == nil {
		in.err = ErrForm
	}
	return in
}

// grow is the size of the first buffer for a byte string, so that a false length costs little
// memory.
const grow = 32 << 10

// take returns the next n bytes. It grows its buffer as the bytes arrive, so that a false length
// costs little memory: at most four times the size of the file, or grow if that is more.
func (r *reader) take(n uint64) []byte {
	var out []byte
	for r.err == nil && uint64(len(out)) < n {
		at := len(out)
		longer := make([]byte, min(n, uint64(max(grow, 2*at))))
		copy(longer, out)
		out = longer
		if _, err := io.ReadFull(r.r, out[at:]); err != nil {
			r.err = ErrForm
		}
	}
	if r.err != nil {
		return nil
	}
	r.sum.Write(out)
	return out
}

func (r *reader) number(limit uint64) uint64 {
	b := r.take(8)
	if r.err != nil {
		return 0
	}
	n := binary.BigEndian.Uint64(b)
	if n > limit {
		r.err = ErrForm
		return 0
	}
	return n
}

func (r *reader) bytes(limit uint64) []byte { return r.take(r.number(limit)) }

// copy copies the next byte string, which must have size bytes, to w.
func (r *reader) copy(size int64, w io.Writer) error {
	if n := r.number(uint64(size)); r.err == nil && n != uint64(size) {
		r.err = ErrForm
	}
	if r.err != nil {
		return r.err
	}
	n, err := io.CopyN(io.MultiWriter(r.sum, w), r.r, size)
	if err != nil && n < size {
		r.err = ErrForm
	}
	return err
}

// close checks the hash at the end of the bundle, and that nothing follows it.
func (r *reader) close() error {
	if r.err != nil {
		return r.err
	}
	want := r.sum.Sum(nil)
	got := make([]byte, sha256.Size+1)
	if n, err := io.ReadFull(r.r, got); n != sha256.Size || !errors.Is(err, io.ErrUnexpectedEOF) || string(got[:n]) != string(want) {
		return ErrForm
	}
	return nil
}

// An answerKey identifies an answer by plan and client.
type answerKey struct {
	ask    uint64
	client string
}

// parts has everything that a bundle has before the transcript, and the number of entries in the
// transcript.
type parts struct {
	document []byte
	consents map[string][]byte
	answers  map[answerKey][]byte
	entries  uint64
}

func (r *reader) parts() (p parts) {
	p.document = r.bytes(maxDocument)
	p.consents = map[string][]byte{}
	for n := r.number(maxClients); n > 0 && r.err == nil; n-- {
		name := string(r.bytes(maxName))
		p.consents[name] = r.bytes(maxEnvelope)
	}
	p.answers = map[answerKey][]byte{}
	for n := r.number(transcript.MaxReceipts); n > 0 && r.err == nil; n-- {
		key := answerKey{ask: r.number(1 << 62)}
		key.client = string(r.bytes(maxName))
		p.answers[key] = r.bytes(maxEnvelope)
	}
	p.entries = r.number(maxEntries)
	return p
}
