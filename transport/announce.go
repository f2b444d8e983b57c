package transport

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"fedpvi/transport/internal/wirepb"
)

// An announcement is an entry in the form in which it is sent. All followers receive the same
// bytes, which are hashed and encoded once.
type announcement struct {
	Item
	number uint64
	sum    Hash
	whole  []frame // from the first byte of the body
	brief  []frame // without the body; nil if the body must be sent
}

// A frame is one message of an entry: a FollowResponse on the wire. The head is its encoding up to
// the bytes of the piece. The piece is part of the body and is not copied.
type frame struct{ head, piece []byte }

func announce(number uint64, item Item) (*announcement, error) {
	a := &announcement{Item: item, number: number, sum: sha256.Sum256(item.Body)}
	var err error
	if a.whole, err = a.encode(0); err == nil && item.Derived {
		var head []byte
		head, err = startOf(number, item.Envelope, uint64(len(item.Body)), a.sum, 0, true)
		a.brief = []frame{{head, nil}}
	}
	return a, err
}

// frames returns the messages that send the entry from an offset of its body. If brief is set they
// may leave out the body.
func (a *announcement) frames(offset uint64, brief bool) ([]frame, error) {
	switch {
	case brief && offset == 0 && a.brief != nil:
		return a.brief, nil
	case offset == 0:
		return a.whole, nil
	case offset > uint64(len(a.Body)):
		return nil, beyond(a.number, offset, uint64(len(a.Body)))
	}
	return a.encode(offset)
}

func (a *announcement) encode(offset uint64) (all []frame, err error) {
	head, err := startOf(a.number, a.Envelope, uint64(len(a.Body)), a.sum, offset, false)
	rest := a.Body[offset:]
	for err == nil && (len(head) > 0 || len(rest) > 0) {
		piece := rest[:min(len(rest), max(entryMessage-len(head), 1))]
		if len(piece) > 0 {
			head = withPiece(head, len(piece))
		}
		all = append(all, frame{head, piece})
		head, rest = nil, rest[len(piece):]
	}
	return all, err
}

// beyond returns an error for an offset behind the end of the entry.
func beyond(number, offset, size uint64) error {
	return refuse(OutOfPlace, "entry %d has %d bytes: there is no byte %d", number, size, offset)
}

// startOf encodes the first message of an entry that is sent from an offset.
func startOf(number uint64, envelope []byte, size uint64, sum Hash, offset uint64, brief bool) ([]byte, error) {
	start := wirepb.FollowResponse_Start_builder{Number: number, Envelope: envelope, Size: size, Sha256: sum[:], Offset: offset, Brief: brief}.Build()
	return proto.Marshal(wirepb.FollowResponse_builder{Start: start}.Build())
}

// withPiece appends the bytes that precede a piece of the given size.
func withPiece(head []byte, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(head, pieceField, protowire.BytesType), uint64(size))
}

// announcements holds the newest entries of a study: the outcome of a round and the next plan are
// sent together.
type announcements struct {
	mu  sync.Mutex
	all []*announcement // newest first
}

// Limits of the entries kept besides the two newest.
const (
	keptEntries = 2
	keptBytes   = 8 << 20
)

// of returns the announcement of an entry.
func (s *announcements) of(number uint64, item Item) (*announcement, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.all {
		if a.number == number && same(a.Body, item.Body) && same(a.Envelope, item.Envelope) {
			return a, nil
		}
	}
	a, err := announce(number, item)
	if err != nil {
		return nil, err
	}
	kept, bytes := []*announcement{a}, 0
	for n, b := range s.all[:min(len(s.all), 1+keptEntries)] {
		if n > 0 {
			bytes += len(b.Envelope) + len(b.Body)
		}
		if bytes > keptBytes {
			break
		}
		kept = append(kept, b)
	}
	s.all = kept
	return a, nil
}

// same reports whether two slices share their memory. Entries are never modified.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// A codec encodes messages as gRPC does, except that frames are encoded already, and arrivals and
// submissions are decoded without a copy.
type codec struct{}

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case frame:
		return mem.BufferSlice{mem.SliceBuffer(m.head), mem.SliceBuffer(m.piece)}, nil
	case storedFrame:
		return mem.BufferSlice{mem.SliceBuffer(m.head), m.piece}, nil
	case proto.Message:
		b, err := proto.Marshal(m)
		return mem.BufferSlice{mem.SliceBuffer(b)}, err
	}
	return nil, fmt.Errorf("a message of type %T", v)
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, ok := v.(*submission); ok {
		return m.read(data)
	}
	b := data.MaterializeToBuffer(mem.DefaultBufferPool())
	switch m := v.(type) {
	case *arrival:
		return m.read(b)
	case proto.Message:
		defer b.Free()
		return proto.Unmarshal(b.ReadOnlyData(), m)
	}
	b.Free()
	return fmt.Errorf("a message of type %T", v)
}

// Name returns gRPC's name of the encoding.
func (codec) Name() string { return "proto" }
