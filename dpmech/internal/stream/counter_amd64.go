package stream

import "golang.org/x/sys/cpu"

// hasLanes says that the processor encrypts two blocks by one instruction, which makes the
// same bits as the standard library three times as fast.
var hasLanes = cpu.X86.HasAES && cpu.X86.HasAVX2 && encryptsPairs()

// encryptsPairs reports the feature VAES of a processor that has AVX2.
func encryptsPairs() bool

//go:noescape
func expandKey(keys *[rounds + 1][16]byte, key *[KeySize]byte)

//go:noescape
func countPairs(dst *byte, pieces int, keys *[rounds + 1][16]byte, block uint64)

const rounds = 14 // of AES-256

// lanes is AES-256 in counter mode, by instructions that take as long whatever the key.
type lanes struct {
	keys  [rounds + 1][16]byte
	block uint64 // number of the next
}

func newLanes(key *[KeySize]byte) *lanes {
	l := new(lanes)
	expandKey(&l.keys, key)
	return l
}

func (l *lanes) fill(dst []byte) {
	if len(dst) == 0 {
		return
	}
	pieces := len(dst) / pieceSize
	_ = dst[pieces*pieceSize-1]
	countPairs(&dst[0], pieces, &l.keys, l.block)
	l.block += uint64(pieces) * (pieceSize / 16)
}

func (l *lanes) wipe() { clear(l.keys[:]) }

//go:noescape
func copyWords(dst *uint64, from *byte, fours int)

// decodeLanes is decode of all words but the last three at most, and returns how many those are:
// memory is little-endian here.
func decodeLanes(dst []uint64, from []byte) int {
	fours := len(dst) / 4
	if fours == 0 || !hasLanes {
		return 0
	}
	_ = from[32*fours-1]
	copyWords(&dst[0], &from[0], fours)
	return 4 * fours
}
