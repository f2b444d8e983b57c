package dpmech

import (
	"crypto/sha256"
	"encoding/binary"

	"fedpvi/dpmech/internal/stream"
)

// FillPublicNormal sets every element of dst to a standard normal number that
// everybody can compute who knows what identifies it: a purpose, a digest and a
// number. It is for draws that all machines of a federation must share, such as
// where a round's gradients are taken. They hide nothing, which is why no [Stream]
// of such a key can be had.
//
// The numbers are those of [FillNormal]. Machines whose exponential or logarithm
// rounds differently may disagree about the last bit of a few in a thousand, and,
// once in some 2^40 numbers, about one of them.
func FillPublicNormal(dst []float64, purpose string, digest [32]byte, number int) {
	h := sha256.New()
	h.Write([]byte("fedpvi/public/v1/" + purpose))
	h.Write(digest[:])
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(number))
	h.Write(n[:])
	var key [stream.KeySize]byte
	h.Sum(key[:0])
	FillNormal(dst, stream.New(key))
}
