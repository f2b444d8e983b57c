package dpmech

import (
	"fmt"
	"math/bits"
)

// A Selection says how a batch of a given size is drawn from the records without
// replacement.
type Selection int

const (
	// Exact draws every set of records of that size with the same probability,
	// given uniform bits.
	Exact Selection = iota

	// Feistel takes the first values of a keyed permutation ([Permute]), which a
	// parallel machine computes independently of each other. That the sets are
	// equally likely is a conjecture about the network, as of any block cipher.
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

// A selector draws sets of distinct indices below n.
type selector struct {
	n         int
	selection Selection
	marked    []uint64 // one bit an index, all clear between calls
	words     [wordsAtOnce]uint64
	network   feistel
}

// wordsAtOnce is how many words of a stream are taken at a time at most.
const wordsAtOnce = 128

func newSelector(n int, selection Selection) (*selector, error) {
	s := &selector{n: n, selection: selection}
	switch selection {
	case Exact:
		s.marked = make([]uint64, (n+63)/64)
	case Feistel:
		s.network = newFeistel(n)
	default:
		return nil, fmt.Errorf("unknown %v: use %v or %v", selection, Exact, Feistel)
	}
	return s, nil
}

// Records returns the number of indices.
func (s *selector) Records() int { return s.n }

// choose appends size distinct indices to dst. It grows dst before it draws any.
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
		s.unmark(chosen)
	}
	return dst
}

// grow returns dst with size elements more, of any value.
func grow(dst []uint32, size int) []uint32 {
	if need := len(dst) + size; need <= cap(dst) {
		return dst[:need]
	}
	return append(dst, make([]uint32, size)...)
}

// mark fills chosen with distinct uniform indices, by drawing again what was
// drawn before, and marks them. At most half of all indices are asked for, so
// that no draw is repeated more than twice on average.
func (s *selector) mark(chosen []uint32, src *Stream) {
	n := uint64(s.n)
	// Lemire's method with 32 bits: of the products with 2^32 possible draws, as
	// many as this are refused, so that the others are evenly spread.
	uneven := uint32(-n) % uint32(max(n, 1))
	count := 0
	for count < len(chosen) {
		// Two indices a word, never a word more than is needed.
		words := s.words[:min((len(chosen)-count+1)/2, wordsAtOnce)]
		src.Fill(words)
		for _, w := range words {
			for range 2 {
				product := (w & 0xffffffff) * n
				w >>= 32
				if uint32(product) < uneven || count == len(chosen) {
					continue
				}
				index := uint32(product >> 32)
				word, bit := &s.marked[index/64], uint64(1)<<(index%64)
				chosen[count] = index
				if *word&bit == 0 {
					count++
				}
				*word |= bit
			}
		}
	}
}

// unmark clears the marks of chosen.
func (s *selector) unmark(chosen []uint32) {
	if len(chosen) > len(s.marked)/2 {
		clear(s.marked)
		return
	}
	for _, index := range chosen {
		s.marked[index/64] = 0
	}
}

// chooseMost marks the few that are left out and lists the others, in order.
func (s *selector) chooseMost(chosen []uint32, src *Stream) {
	// What is left out is drawn into the front of chosen, which is longer.
	s.mark(chosen[:s.n-len(chosen)], src)
	count := 0
	for i, word := range s.marked {
		in := ^word
		if left := s.n - 64*i; left < 64 {
			in &= 1<<left - 1
		}
		for ; in != 0; in &= in - 1 {
			chosen[count] = uint32(64*i + bits.TrailingZeros64(in))
			count++
		}
	}
	clear(s.marked)
}
