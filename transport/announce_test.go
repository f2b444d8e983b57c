package transport

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"fedpvi/transport/internal/wirepb"
)

// The bytes on the wire equal the protobuf encoding of the same messages. A client assembles the
// entry from them, from any offset.
func TestFramesAreMessages(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, entryMessage - 1, entryMessage, entryMessage + 1, 5*entryMessage + 77} {
		body, envelope := make([]byte, size), make([]byte, 300)
		random.Read(body)
		random.Read(envelope)
		a, err := announce(7, Item{Envelope: envelope, Body: body})
		check(t, err)
		for _, offset := range []int{0, 1, size / 2, size - 1, size} {
			if offset < 0 || offset > size {
				continue
			}
			frames, err := a.frames(uint64(offset), offset%2 == 0) // the body does not follow from earlier entries
			check(t, err)
			assembly := &assembly{number: 7, limit: int64(size), size: int64(size), running: sha256.New()}
			check(t, assembly.add(body[:offset]))
			rest := body[offset:]
			var complete bool
			for i, f := range frames {
				m := &wirepb.FollowResponse{}
				if len(f.piece) > 0 {
					m.SetPiece(f.piece)
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
				if len(f.piece) > 0 && &f.piece[0] != &rest[0] {
					t.Errorf("%d bytes from %d: message %d has a copy of the body", size, offset, i)
				}
				rest = rest[len(f.piece):]
				complete, err = assembly.take(arrived(t, got))
				check(t, err)
			}
			if !complete || !bytes.Equal(assembly.item.Body, body) || !bytes.Equal(assembly.item.Envelope, envelope) {
				t.Errorf("%d bytes from %d: the entry did not arrive", size, offset)
			}
		}
	}
	a, err := announce(7, item([]byte("body")))
	check(t, err)
	if _, err := a.frames(5, true); err == nil {
		t.Error("an entry continues behind its end")
	}
}

// An entry is encoded once for all followers, and is not mistaken for another with the same number.
func TestEntriesAreEncodedOnce(t *testing.T) {
	var s announcements
	of := func(number uint64, i Item) *announcement {
		a, err := s.of(number, i)
		check(t, err)
		return a
	}
	outcome, plan := item([]byte("outcome")), item([]byte("plan"))
	first, second := of(1, outcome), of(2, plan)
	if of(1, outcome) != first || of(2, plan) != second {
		t.Error("an entry was encoded twice")
	}
	if other := of(2, Item{Envelope: plan.Envelope, Body: []byte("plot")}); other == second || string(other.Body) != "plot" {
		t.Error("one entry was mistaken for another")
	}
	if other := of(3, plan); other.number != 3 {
		t.Error("an entry has the number of another")
	}
	for n := range uint64(10) {
		of(n+4, plan)
	}
	if len(s.all) != 2+keptEntries {
		t.Errorf("%d entries are kept", len(s.all))
	}
	large := Item{Body: make([]byte, keptBytes+1)}
	for n := range uint64(10) {
		of(n+14, large)
	}
	if len(s.all) != 2 {
		t.Errorf("%d entries of %d bytes are kept", len(s.all), keptBytes)
	}
}
