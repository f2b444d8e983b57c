package transport

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"fedpvi/internal/testing/memory"
	"fedpvi/transport/internal/wirepb"
)

// A valid message in an unusual encoding must be decoded as protobuf decodes it.
func TestSubmissions(t *testing.T) {
	an, other := offer([]byte("envelope"), 7), prompt([]byte("another"), 3, []byte("abc"))
	first, second := piece(3, []byte("data")), piece(5, nil)
	m := &submission{}
	for name, parts := range map[string][]*wirepb.SubmitRequest{
		"nothing":                       {{}},
		"an offer":                      {an},
		"an offer with a body":          {other},
		"a piece":                       {first},
		"two offers in one":             {an, other},
		"two pieces in one":             {first, second},
		"a piece behind an offer":       {an, first},
		"an offer behind a piece":       {first, an},
		"an offer between pieces":       {first, an, second},
		"an offer, a piece, and offers": {an, first, other, an},
	} {
		var b []byte
		for _, p := range parts {
			b = append(b, encoded(t, p)...)
		}
		t.Run(name, func(t *testing.T) {
			submitted(t, m, b)
			submitted(t, m, append([]byte("\x1a\x03abc\x20\x01"), b...)) // has unknown fields in front
			submitted(t, m, b[:max(len(b)-1, 0)])
		})
	}
}

// Even if the connection splits a message, all pieces must be received in the same buffer.
func TestPiecesAreReceivedInOneBuffer(t *testing.T) {
	const size, pieces = 100_000, 50
	b, err := proto.Marshal(piece(7, bytes.Repeat([]byte("x"), size)))
	check(t, err)
	var parts mem.BufferSlice
	for rest := b; len(rest) > 0; {
		n := min(len(rest), 16<<10)
		parts, rest = append(parts, mem.SliceBuffer(rest[:n])), rest[n:]
	}
	memory.Within(t, 3*size, func() { // under the race detector, a growing buffer is allocated twice
		m := &submission{}
		for range pieces {
			if err := m.read(parts); err != nil || m.piece.offset != 7 || len(m.piece.data) != size {
				t.Errorf("%v", err)
			}
		}
	})
}
