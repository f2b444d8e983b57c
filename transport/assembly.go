package transport

import (
	"bytes"
	"crypto/sha256"
	"hash"

	"fedpvi/transport/internal/wirepb"
)

// An assembly puts a transcript entry together from pieces, which may come over several
// connections. It uses at most twice as much memory as the bytes that have arrived.
type assembly struct {
	number  uint64
	limit   int64
	brief   bool // whether the coordinator may leave out a body that this client can compute
	started bool // whether a start message has arrived, on any connection
	item    Item
	size    int64
	sum     []byte
	running hash.Hash
	resumed bool // whether a start message has arrived on this connection
}

func newAssembly(number uint64, limit int64, brief bool) *assembly {
	return &assembly{number: number, limit: limit, brief: brief, running: sha256.New()}
}

func (a *assembly) have() uint64 { return uint64(len(a.item.Body)) }

// reconnect prepares the assembly for a new connection, which must again begin with a start
// message.
func (a *assembly) reconnect() { a.resumed = false }

// take adds a message and reports whether the entry is complete. If the message violates the
// protocol, take returns an error, and the assembly must not be used again.
func (a *assembly) take(m *wirepb.FollowResponse) (complete bool, err error) {
	switch {
	case m.HasStart() == a.resumed:
		return false, refuse(OutOfPlace, "entry %d must have exactly one start", a.number)
	case !a.resumed:
		if err := a.begin(m.GetStart()); err != nil {
			return false, err
		}
		if m.GetStart().GetBrief() {
			return a.abridged(m)
		}
	case len(m.GetPiece()) == 0:
		return false, refuse(Malformed, "a piece of entry %d is empty", a.number)
	}
	if err := a.add(m.GetPiece()); err != nil || int64(len(a.item.Body)) < a.size {
		return false, err
	}
	if !bytes.Equal(a.running.Sum(nil), a.sum) {
		return false, refuse(Malformed, "the body of entry %d does not have the announced hash", a.number)
	}
	return true, nil
}

// abridged completes an entry that came without its body.
func (a *assembly) abridged(m *wirepb.FollowResponse) (complete bool, err error) {
	if !a.brief || a.have() > 0 || len(m.GetPiece()) > 0 {
		return false, refuse(OutOfPlace, "entry %d lacks a body that was requested", a.number)
	}
	a.item.Derived = true
	return true, nil
}

func (a *assembly) begin(start *wirepb.FollowResponse_Start) error {
	if err := checkStart(start, a.number, int64(a.have()), a.limit); err != nil {
		return err
	}
	if a.started {
		if !bytes.Equal(a.item.Envelope, start.GetEnvelope()) || uint64(a.size) != start.GetSize() || !bytes.Equal(a.sum, start.GetSha256()) {
			return refuse(OutOfPlace, "entry %d changed while the connection was broken", a.number)
		}
	}
	a.item.Envelope, a.size, a.sum = start.GetEnvelope(), int64(start.GetSize()), start.GetSha256()
	a.started, a.resumed = true, true
	return nil
}

func (a *assembly) add(piece []byte) error {
	if len(piece) > MaxPiece {
		return refuse(TooLarge, "the piece has %d bytes: at most %d are allowed", len(piece), MaxPiece)
	}
	if int64(len(piece)) > a.size-int64(len(a.item.Body)) {
		return refuse(TooLarge, "entry %d is longer than the %d bytes announced", a.number, a.size)
	}
	a.running.Write(piece)
	if need := len(a.item.Body) + len(piece); need > cap(a.item.Body) {
		larger := make([]byte, len(a.item.Body), min(a.size, 2*int64(need)))
		copy(larger, a.item.Body)
		a.item.Body = larger
	}
	a.item.Body = append(a.item.Body, piece...)
	return nil
}
