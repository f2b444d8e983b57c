package transport

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/grpc"
)

// A kept is a body in memory that stands in for a body on disk.
type kept struct {
	body []byte
	fail error
}

func (k kept) Size() uint64 { return uint64(len(k.body)) }
func (k kept) Hash() Hash   { return sha256.Sum256(k.body) }
func (k kept) Read(b []byte, from int64) error {
	copy(b, k.body[from:])
	return k.fail
}

// sentFrames is a stream that keeps the messages sent on it.
type sentFrames struct {
	grpc.ServerStream
	sent []frame
}

func (t *sentFrames) SendMsg(m any) error {
	t.sent = append(t.sent, m.(frame))
	return nil
}

func (t *sentFrames) bytes() (all []byte) {
	for _, f := range t.sent {
		data, _ := codec{}.Marshal(f) // no error is possible, because frames are already encoded
		all = append(append(all, data.Materialize()...), '|')
	}
	return all
}

// An entry on disk must give the same messages as one in memory, for several offsets.
func TestStoredEntriesAreSentAsOthers(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, entryMessage - 1, entryMessage, entryMessage + 1, 5*entryMessage + 77} {
		body, envelope := make([]byte, size), make([]byte, 300)
		random.Read(body)
		random.Read(envelope)
		for _, offset := range []int{0, 1, size / 2, size - 1, size, size + 1} {
			if offset < 0 {
				continue
			}
			var got, want sentFrames
			c := &call{watch: watching(t), study: &served{}}
			brief := random.Uint64()%2 == 0
			failed := sendEntry(&got, c, Item{Envelope: envelope, Stored: kept{body: body}, Derived: true}, 7, uint64(offset), brief)
			wanted := sendEntry(&want, c, Item{Envelope: envelope, Body: body, Derived: true}, 7, uint64(offset), brief)
			if (failed == nil) != (wanted == nil) || failed != nil && failed.Error() != wanted.Error() {
				t.Errorf("%d bytes from %d: %v, want %v", size, offset, failed, wanted)
			}
			if !bytes.Equal(got.bytes(), want.bytes()) {
				t.Errorf("%d bytes from %d are sent differently", size, offset)
			}
		}
	}
}

func TestUnreadableStoredEntry(t *testing.T) {
	gone := errors.New("gone")
	var got sentFrames
	c := &call{watch: watching(t), study: &served{}}
	err := sendEntry(&got, c, Item{Envelope: []byte("e"), Stored: kept{body: []byte("body"), fail: gone}}, 7, 0, false)
	if !errors.Is(err, gone) || len(got.sent) > 0 {
		t.Errorf("%v, and %d messages were sent", err, len(got.sent))
	}
}

func watching(t *testing.T) *watch {
	w := newWatch(time.Hour, func(error) {})
	t.Cleanup(w.stop)
	return w
}
