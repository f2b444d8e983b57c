package dpmech

import (
	"crypto/sha256"
	"encoding/binary"

	"fedpvi/dpmech/internal/stream"
)

// FillPublicNormal sets every element of dst to a standard normal number that anybody can compute
// from purpose, digest and number. It is for draws that all machines of a federation must share,
// such as the point at which the gradients of a round are taken. The numbers protect no data.
// FillPublicNormal does not return a [Stream], because a caller could use the stream for noise.
//
// The numbers are computed as [FillNormal] computes them. If two machines round exponentials or
// logarithms differently, a few numbers in a thousand can differ in the last bit, and about one
// number in 2^40 can differ completely.
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
