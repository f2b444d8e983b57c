package store

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// Bytes of a body must be readable from any offset, regardless of the pieces in which the body
// arrived. Reading bytes that have not arrived must return an error.
func TestReadAnswer(t *testing.T) {
	s := created(t, Options{})
	random := rand.New(rand.NewPCG(1, 2))
	a, b, c := ReleaseKey{Ask: 1, Client: "a"}, ReleaseKey{Ask: 1, Client: "b"}, ReleaseKey{Ask: 1, Client: "c"}
	for range 50 {
		var body []byte
		in(t, s, func(st Study) error {
			if err := st.ReadAnswer(b, make([]byte, 1), 0); !errors.Is(err, errPieces) {
				t.Errorf("reading before any piece arrived: %v", err)
			}
			for _, other := range []ReleaseKey{a, c} {
				check(t, st.PutPiece(other, 0, []byte("of another")))
			}
			for i := range 1 + random.IntN(4) {
				piece := bytes.Repeat([]byte{byte(i + 1)}, 1+random.IntN(3*pieceValue))
				piece[0] = 0xff
				check(t, st.PutPiece(b, int64(len(body)), piece))
				body = append(body, piece...)
			}
			return nil
		})
		from := random.IntN(len(body) + 1)
		got := make([]byte, random.IntN(len(body)-from+1))
		in(t, s, func(st Study) error {
			if err := st.ReadAnswer(b, got, int64(from)); err != nil || !bytes.Equal(got, body[from:from+len(got)]) {
				t.Errorf("%d bytes from offset %d of %d: %v", len(got), from, len(body), err)
			}
			if err := st.ReadAnswer(b, make([]byte, len(body)-from+1), int64(from)); !errors.Is(err, errPieces) {
				t.Errorf("beyond the end: %v", err)
			}
			check(t, st.PutPiece(b, int64(len(body)+1), []byte("behind a hole")))
			if err := st.ReadAnswer(b, make([]byte, len(body)-from+2), int64(from)); !errors.Is(err, errPieces) {
				t.Errorf("over a hole: %v", err)
			}
			if random.IntN(2) == 0 {
				check(t, st.DropBody(c)) // b is now the last answer in the bucket
			}
			return st.DropBody(b)
		})
	}
}
