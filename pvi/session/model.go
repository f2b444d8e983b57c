package session

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"math"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// An answer contains the hash of the state that its plan was made from. The hash covers only the
// numbers in the plan. These are the same for all clients, even if their machines round
// differently.

func newModelHash(digest pvi.Digest) hash.Hash {
	h := sha256.New()
	io.WriteString(h, "fedpvi/model/v1")
	h.Write(digest[:])
	return h
}

func word(h hash.Hash, n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	h.Write(b[:])
}

func sum(h hash.Hash) [32]byte { return [32]byte(h.Sum(nil)) }

// modelOfScale returns the hash for the state of the scale phase, which consists of the column
// bounds.
func modelOfScale(digest pvi.Digest, bounds []study.Bounds) [32]byte {
	h := newModelHash(digest)
	for _, b := range bounds {
		word(h, math.Float64bits(b.Low))
		word(h, math.Float64bits(b.High))
	}
	return sum(h)
}

// modelOfLambda returns the hash for the state of the rounds, which consists of λ.
func modelOfLambda(digest pvi.Digest, lambda []pvi.Wide) [32]byte {
	h := newModelHash(digest)
	b := make([]byte, 0, 4<<10)
	for _, w := range lambda {
		high, low := w.Hi, w.Lo
		b = binary.LittleEndian.AppendUint64(b, uint64(high))
		b = binary.LittleEndian.AppendUint64(b, low)
		if len(b) == cap(b) {
			h.Write(b)
			b = b[:0]
		}
	}
	h.Write(b)
	return sum(h)
}

// modelOfPoint returns the hash for the state of the last round, which consists of the point θ
// where gradients and curvatures are computed.
func modelOfPoint(digest pvi.Digest, point []float64) [32]byte {
	h := newModelHash(digest)
	for _, x := range point {
		word(h, math.Float64bits(x))
	}
	return sum(h)
}
