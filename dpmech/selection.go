package dpmech

import "fmt"

// A Selection is the algorithm that draws a batch of a given size from the records
// without replacement.
type Selection int

const (
	// Exact draws every set of records of the given size with the same probability, if the bits
	// of the stream are uniform.
	Exact Selection = iota

	// Feistel takes the first values of a keyed permutation (docs/prove/feistel.md). A parallel
	// machine can compute these values independently of each other. There is no proof that all sets
	// are equally probable. Like the security of block ciphers, this is a conjecture.
	Feistel
)

// String returns the name of the selection.
func (s Selection) String() string {
	switch s {
	case Exact:
		return "exact"
	case Feistel:
		return "feistel"
	}
	return fmt.Sprintf("selection %d", int(s))
}

// maxRecords bounds the number of records, so that an index fits in 32 bits.
const maxRecords = 1 << 31

// A selector draws sets of distinct indices in [0, n).
type selector struct {
	n         int
	selection Selection
	marks     []uint8 // marks[i] equals epoch if index i was already drawn in this step
	epoch     uint8   // value in marks of the indices that were drawn in this step
	words     [wordsAtOnce]uint64
	network   feistel
}

// wordsAtOnce is the largest number of words that a selector takes from a stream at a time.
const wordsAtOnce = 128

func newSelector(n int, selection Selection) (*selector, error) {
	s := &selector{n: n, selection: selection}
	switch selection {
	case Exact:
		s.marks = make([]uint8, n)
	case Feistel:
		s.network = newFeistel(n)
	default:
		return nil, fmt.Errorf("unknown %v: use %v or %v", selection, Exact, Feistel)
	}
	return s, nil
}

// Records returns the number of indices.
func (s *selector) Records() int { return s.n }

// choose draws size distinct indices and appends them to dst. It grows dst before it draws bits.
func (s *selector) choose(dst []uint32, size int, src *Stream) []uint32 {
	from := len(dst)
	dst = grow(dst, size)
	chosen := dst[from:]
	switch {
	case s.selection == Feistel:
		s.network.key(src)
		s.network.fill(chosen)
	case size > s.n/2:
		s.chooseMost(chosen, src)
	default:
		s.mark(chosen, src)
	}
	return dst
}

// grow returns dst with size more elements of arbitrary value.
func grow(dst []uint32, size int) []uint32 {
	if need := len(dst) + size; need <= cap(dst) {
		return dst[:need]
	}
	return append(dst, make([]uint32, size)...)
}

// mark draws distinct uniform indices until chosen is full, and marks each of them. If an index is
// already marked, mark draws another one. The length of chosen is at most half the number of
// indices, so an index takes at most two draws on average.
func (s *selector) mark(chosen []uint32, src *Stream) {
	if s.epoch++; s.epoch == 0 {
		clear(s.marks)
		s.epoch = 1
	}
	for len(chosen) > 0 {
		// Each word determines two indices. The loop draws only as many words as it needs.
		words := s.words[:min((len(chosen)+1)/2, wordsAtOnce)]
		src.Fill(words)
		chosen = chosen[s.markSome(chosen, words):]
	}
}

// markSome makes indices from the random bits in words until chosen is full, and returns the number
// of new indices. It uses Lemire's method with 32-bit draws. It rejects some of the 2^32 possible
// draws, so that every index results from the same number of draws.
func (s *selector) markSome(chosen []uint32, words []uint64) (found int) {
	n, marks, epoch := uint64(s.n), s.marks, s.epoch
	uneven := uint32(-n) % uint32(n)
	for _, w := range words {
		low, high := (w&(1<<32-1))*n, (w>>32)*n
		if i := uint32(low >> 32); uint32(low) >= uneven && marks[i] != epoch {
			marks[i] = epoch
			chosen[found] = i
			found++
		}
		if found == len(chosen) {
			break
		}
		if i := uint32(high >> 32); uint32(high) >= uneven && marks[i] != epoch {
			marks[i] = epoch
			chosen[found] = i
			found++
		}
	}
	return found
}

// chooseMost chooses more than half of the indices. It draws and marks the indices that are left
// out, and lists the other indices in order.
func (s *selector) chooseMost(chosen []uint32, src *Stream) {
	// chosen first stores the indices that are left out. They fit, because fewer indices are left
	// out than chosen. The loop overwrites them.
	s.mark(chosen[:s.n-len(chosen)], src)
	count := 0
	for i, mark := range s.marks {
		if mark != s.epoch {
			chosen[count] = uint32(i)
			count++
		}
	}
}
