package onestep

import (
	"crypto/sha256"
	"encoding/binary"

	"gonum.org/v1/gonum/mathext"
)

// normals generates standard normal numbers from SHA-256 in counter mode. Anyone with the key can
// compute them, so they hide nothing.
type normals struct {
	block [40]byte // key, followed by a counter
	words []byte   // unused bytes of the last hash
	hash  [32]byte
	count uint64
}

func newNormals(key [32]byte) *normals {
	n := new(normals)
	copy(n.block[:], key[:])
	return n
}

func (n *normals) fill(dst []float64, sd float64) {
	for i := range dst {
		if len(n.words) == 0 {
			binary.LittleEndian.PutUint64(n.block[32:], n.count)
			n.count++
			n.hash = sha256.Sum256(n.block[:])
			n.words = n.hash[:]
		}
		word := binary.LittleEndian.Uint64(n.words)
		n.words = n.words[8:]
		uniform := (float64(word>>12) + 0.5) * 0x1p-52 // uniform number in (0, 1)
		dst[i] = sd * mathext.NormalQuantile(uniform)
	}
}
