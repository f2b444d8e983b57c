package sums

import (
	"encoding/binary"
	"fmt"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/sums/field"
	"fedpvi/crypto/sums/packed"
)

// deal returns the body of a deal: the columns that are sent, and then the tags, in the order of
// their offsets. keys has the dealer's keys by place − 1. matrix is that of the dealer.
func (f *Federation) deal(d dealing, matrix packed.Matrix, keys []key, vector []int64) []byte {
	s := f.scheme
	body := make([]byte, f.DealSize())
	streams := make([]*stream, 0, s.Hidden())
	for offset := s.Sent(); offset < s.Clients; offset++ {
		j := s.Holder(d.dealer, offset)
		streams = append(streams, d.stream(keys[j-1], j))
	}
	in, out := newBlocks(s.Fewest), newBlocks(s.Sent())
	for from := 0; from < f.words; from += packed.Block {
		n := min(packed.Block, f.words-from)
		for a, x := range in.cut(n) {
			if a < s.Packed() {
				f.secret(x, vector, a, from)
			} else {
				streams[a-s.Packed()].read(x)
			}
		}
		matrix.Apply(out.cut(n), in.cut(n))
		for offset, x := range out.cut(n) {
			putWords(body[offset*f.columnSize()+from*wordSize:], x)
		}
	}
	for offset := range s.Clients - 1 {
		j := s.Holder(d.dealer, offset)
		at, size := f.Column(d.dealer, j)
		plain, use := body[at:at+size-tagSize], sealUse
		if offset >= s.Sent() {
			use = tagUse
		}
		d.aead(keys[j-1], j, use).Seal(plain[:0], nonce[:], plain, nil)
	}
	return body
}

// secret fills x with words of secret number a of a vector, beginning with word number from. Words
// beyond the vector are zero.
func (f *Federation) secret(x []uint64, vector []int64, a, from int) {
	clear(x)
	at := a*f.words + from
	for i := range vector[min(at, len(vector)):min(at+len(x), len(vector))] {
		x[i] = field.FromInteger(vector[at+i])
	}
}

// blocks are blocks of as many columns, in one piece of memory.
type blocks struct {
	words [][]uint64
	used  [][]uint64
}

func newBlocks(columns int) *blocks {
	b := &blocks{make([][]uint64, columns), make([][]uint64, columns)}
	all := make([]uint64, columns*packed.Block)
	for c := range b.words {
		b.words[c] = all[c*packed.Block : (c+1)*packed.Block]
	}
	return b
}

// cut returns the first n words of each block. The result is valid until the next call.
func (b *blocks) cut(n int) [][]uint64 {
	for c, x := range b.words {
		b.used[c] = x[:n]
	}
	return b.used
}

func putWords(b []byte, words []uint64) {
	b = b[:len(words)*wordSize]
	for i, x := range words {
		binary.BigEndian.PutUint64(b[i*wordSize:], x)
	}
}

// getWords fills dst with words from b. It reports whether all are elements of the field.
func getWords(dst []uint64, b []byte) bool {
	beyond := uint64(0)
	for i := range dst {
		dst[i] = binary.BigEndian.Uint64(b)
		b = b[wordSize:]
		beyond |= field.Beyond(dst[i])
	}
	return beyond == 0
}

// Unopened is the error for a deal that a holder cannot decrypt. The deal, or the dealer's key for
// this holder, was changed on the way, or the dealer is broken.
type Unopened struct{ Dealer identity.Name }

func (u *Unopened) Error() string {
	return fmt.Sprintf("what client %s has dealt cannot be read: it was changed on the way, or belongs to another plan or cut", u.Dealer)
}

// gather returns the sum of a holder's columns of the deals in a cut. keys has the keys that the
// dealers have drawn for the holder, by place − 1. pieces has the parts of the deals for the
// holder, in the order of the cut, and is overwritten.
func (f *Federation) gather(holder int, keys []key, plan Hash, cut []Dealt, pieces []byte) ([]uint64, error) {
	sum := make([]uint64, f.words)
	for _, c := range cut {
		offset := f.scheme.Offset(c.Place, holder)
		d := dealing{plan, c.Place, c.Salt}
		piece := pieces[:f.pieceSize(offset)]
		pieces = pieces[len(piece):]
		if keys[c.Place-1] == (key{}) || !f.addColumn(sum, d, keys[c.Place-1], holder, offset, piece) {
			return nil, &Unopened{f.Name(c.Place)}
		}
	}
	return sum, nil
}

// addColumn adds a column to sum. It returns false if the part of the deal for the holder is not
// the dealer's. sum is then not valid.
func (f *Federation) addColumn(sum []uint64, d dealing, pair key, holder, offset int, piece []byte) bool {
	if offset < f.scheme.Sent() {
		plain, err := d.aead(pair, holder, sealUse).Open(piece[:0], nonce[:], piece, nil)
		return err == nil && addWords(sum, plain)
	}
	if len(piece) > 0 {
		if _, err := d.aead(pair, holder, tagUse).Open(nil, nonce[:], piece, nil); err != nil {
			return false
		}
	}
	s, words := d.stream(pair, holder), make([]uint64, packed.Block)
	for len(sum) > 0 {
		x := words[:min(packed.Block, len(sum))]
		s.read(x)
		for i := range x {
			sum[i] = field.Add(sum[i], x[i])
		}
		sum = sum[len(x):]
	}
	return true
}

// addWords adds encoded words to sum. It returns false unless all are elements of the field.
func addWords(sum []uint64, b []byte) bool {
	beyond := uint64(0)
	for i := range sum {
		x := binary.BigEndian.Uint64(b)
		b = b[wordSize:]
		beyond |= field.Beyond(x)
		sum[i] = field.Add(sum[i], x&field.P)
	}
	return beyond == 0
}
