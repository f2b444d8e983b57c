package transport

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"fedpvi/transport/internal/wirepb"
)

// sendEntry must send the same bytes as protobuf would for the same messages. A client must be able
// to assemble the entry from them, from any offset.
func TestFramesAreMessages(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, entryMessage - 1, entryMessage, entryMessage + 1, 5*entryMessage + 77} {
		body, envelope := make([]byte, size), make([]byte, 300)
		random.Read(body)
		random.Read(envelope)
		for _, offset := range []int{0, 1, size / 2, size - 1, size} {
			if offset < 0 || offset > size {
				continue
			}
			c := &call{watch: watching(t), study: &served{}}
			var frames sentFrames
			check(t, sendEntry(&frames, c, Item{Envelope: envelope, Body: body}, 7, uint64(offset), offset%2 == 0)) // brief must have no effect, because clients cannot compute this body
			assembly := &assembly{number: 7, limit: int64(size), size: int64(size), running: sha256.New()}
			check(t, assembly.add(body[:offset]))
			rest := body[offset:]
			var complete bool
			for i, f := range frames.sent {
				m := &wirepb.FollowResponse{}
				piece := f.piece.ReadOnlyData()
				if len(piece) > 0 {
					m.SetPiece(piece)
				}
				if i == 0 {
					sum := sha256.Sum256(body)
					m.SetStart(wirepb.FollowResponse_Start_builder{Number: 7, Envelope: envelope, Size: uint64(size), Sha256: sum[:], Offset: uint64(offset)}.Build())
				}
				want, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
				check(t, err)
				data, err := codec{}.Marshal(f)
				check(t, err)
				got := data.Materialize()
				if !bytes.Equal(got, want) || len(got) > entryMessage+16 {
					t.Fatalf("%d bytes from %d: message %d differs from protobuf, or has %d bytes", size, offset, i, len(got))
				}
				if len(piece) > 0 && &piece[0] != &rest[0] {
					t.Errorf("%d bytes from %d: message %d has a copy of the body", size, offset, i)
				}
				rest = rest[len(piece):]
				complete, err = assembly.take(arrived(got))
				check(t, err)
			}
			if !complete || !bytes.Equal(assembly.item.Body, body) || !bytes.Equal(assembly.item.Envelope, envelope) {
				t.Errorf("%d bytes from %d: the entry did not arrive", size, offset)
			}
		}
	}
	c := &call{watch: watching(t), study: &served{}}
	if err := sendEntry(&sentFrames{}, c, item([]byte("body")), 7, 5, true); err == nil {
		t.Error("an entry continues behind its end")
	}
}

// A body that goes to many clients must be hashed only once. Different bodies must have different
// hashes, and old bodies must not be kept.
func TestBodiesAreHashedOnce(t *testing.T) {
	var s hashes
	first, second := []byte("outcome"), []byte("plan")
	for _, body := range [][]byte{nil, first, second, first, nil} {
		if h := s.hashed(body); h.Hash() != sha256.Sum256(body) || !bytes.Equal(h.body, body) {
			t.Errorf("%q has the hash of another body", body)
		}
	}
	s.held[1].sum[0]++ // the hash is now wrong, so that only a new computation can give the right one
	if h := s.hashed(first); h.Hash() == sha256.Sum256(first) {
		t.Error("a body was hashed twice")
	}
	if h := s.hashed(bytes.Clone(first)); h.Hash() != sha256.Sum256(first) {
		t.Error("a body was mistaken for another with the same bytes")
	}
	for n := range len(s.held) {
		s.hashed([]byte{byte(n)})
	}
	for _, h := range s.held {
		if same(h.body, first) || same(h.body, second) {
			t.Error("an old body is kept")
		}
	}
}
