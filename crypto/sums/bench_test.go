//go:build unix

package sums

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"syscall"
	"testing"

	"fedpvi/crypto/sums/packed"
)

var sizes = []struct{ clients, fewest, length int }{
	{3, 3, 1e6}, {10, 8, 1e6}, {100, 80, 1e6}, {1000, 800, 1e6},
}

// BenchmarkSums measures how long a client's steps take. For comparison, it also measures pairwise
// masks for the same vector: AES-CTR and one addition modulo 2⁶⁴ for each element and mask.
func BenchmarkSums(b *testing.B) {
	for _, c := range sizes {
		s, err := packed.New(c.clients, c.fewest)
		check(b, err)
		f := &Federation{scheme: s, length: c.length, words: s.Words(c.length)}
		keys := make([]key, c.clients)
		for j := range keys {
			keys[j] = newKey()
		}
		vector := make([]int64, c.length)
		for i := range vector {
			vector[i] = int64(i) - 1000
		}
		name := fmt.Sprintf("%d-of-%d", c.fewest, c.clients)
		matrix := s.Dealing(1)
		b.Run("deal/"+name, func(b *testing.B) {
			defer reportProcessor(b, processor())
			for b.Loop() {
				f.deal(dealing{dealer: 1}, matrix, keys, vector)
			}
		})
		b.Run("gather/"+name, func(b *testing.B) {
			cut, pieces := dealtByAll(f, keys)
			own := make([]uint64, f.words)
			overwritten, before := make([]byte, len(pieces)), processor()
			for b.Loop() {
				b.StopTimer()
				began := processor()
				copy(overwritten, pieces)
				before += processor() - began
				b.StartTimer()
				if _, err := f.gather(1, own, keys, Hash{}, cut, overwritten); err != nil {
					b.Fatal(err)
				}
			}
			reportProcessor(b, before)
		})
		b.Run("open/"+name, func(b *testing.B) {
			shares := make([]share, c.fewest)
			for i := range shares {
				shares[i] = share{signature{place: i + 1}, make([]byte, f.ShareSize())}
			}
			defer reportProcessor(b, processor())
			for b.Loop() {
				if _, err := f.sum(shares); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("masks/"+name, func(b *testing.B) {
			defer reportProcessor(b, processor())
			for b.Loop() {
				masks(keys, vector)
			}
		})
	}
}

func processor() int64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return r.Utime.Nano() + r.Stime.Nano()
}

// reportProcessor reports the CPU time of an operation, because other programs affect it less than
// the elapsed time.
func reportProcessor(b *testing.B, before int64) {
	b.ReportMetric(float64(processor()-before)/1e6/float64(b.N), "cpu-ms/op")
}

// dealtByAll returns a cut with a deal from each client, and the first client's parts of these
// deals. All columns that are sent have only zeros.
func dealtByAll(f *Federation, keys []key) (cut []Dealt, pieces []byte) {
	for i := 1; i <= f.scheme.Clients; i++ {
		d, use, offset := dealing{dealer: i}, sealUse, f.scheme.Offset(i, 1)
		cut = append(cut, Dealt{Place: i})
		if offset >= f.scheme.Sent() {
			use = tagUse
		}
		if size := f.pieceSize(offset); size > 0 {
			pieces = d.aead(keys[i-1], 1, use).Seal(pieces, nonce[:], make([]byte, size-tagSize), nil)
		}
	}
	return cut, pieces
}

// masks adds one mask for each other client to a vector. It works in blocks that fit into the
// cache.
func masks(keys []key, vector []int64) []uint64 {
	out := make([]uint64, len(vector))
	for i, v := range vector {
		out[i] = uint64(v)
	}
	var b [packed.Block * wordSize]byte
	for _, k := range keys[1:] {
		c, err := aes.NewCipher(k[:])
		if err != nil {
			panic(err)
		}
		s := cipher.NewCTR(c, make([]byte, aes.BlockSize))
		for rest := out; len(rest) > 0; {
			x := rest[:min(packed.Block, len(rest))]
			rest = rest[len(x):]
			s.XORKeyStream(b[:len(x)*wordSize], zeros[:len(x)*wordSize])
			for i := range x {
				x[i] += binary.LittleEndian.Uint64(b[i*wordSize:])
			}
		}
	}
	return out
}
