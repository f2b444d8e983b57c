package onestep

import (
	"crypto/sha256"
	"encoding/binary"

	"gonum.org/v1/gonum/mathext"
)

// normals generates standard normal numbers that every holder of the key can compute. They are normal quantiles of
// uniform numbers from SHA-256 in counter mode. These numbers are public and hide nothing.
type normals struct {
	block [40]byte // key and counter
	words []byte   // of the present hash that are not used up
	hash  [32]byte
	count uint64
}

func newNormals(key [32]byte) *normals {
	n := new(normals)
	copy(n.block[:], key[:])
	return n
}

// fill writes numbers to dst, times sd.
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
		uniform := (float64(word>>12) + 0.5) * 0x1p-52 // in (0, 1)
		dst[i] = sd * mathext.NormalQuantile(uniform)
	}
}
