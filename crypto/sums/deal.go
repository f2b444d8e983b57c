package sums

import (
	"encoding/binary"
	"fmt"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/sums/field"
	"fedpvi/crypto/sums/packed"
)

// deal shares a vector among all clients. It returns the body of the deal, and the column that the
// dealer keeps. The body has the encrypted columns that the dealer sends. After these, it has a tag
// for each holder that computes its column from a key, in the order of the offsets
// ([packed.Scheme.Offset]). keys[p−1] is the dealer's key for place p.
func (f *Federation) deal(d dealing, matrix packed.Matrix, keys []key, vector []int64) (body []byte, own []uint64) {
	s := f.scheme
	body, own = make([]byte, f.DealSize()), make([]uint64, f.words)
	streams := make([]*stream, 0, s.Hidden())
	for offset := s.Sent(); offset < s.Clients-1; offset++ {
		j := s.Holder(d.dealer, offset)
		streams = append(streams, d.stream(keys[j-1], j))
	}
	in, out := newBlocks(s.Fewest), newBlocks(s.Sent()+1)
	for from := 0; from < f.words; from += packed.Block {
		n := min(packed.Block, f.words-from)
		rows, columns := in.cut(n), out.cut(n)
		for a, x := range rows {
			if a < s.Packed() {
				f.secret(x, vector, a, from)
			} else {
				streams[a-s.Packed()].read(x)
			}
		}
		columns[s.Sent()] = own[from : from+n]
		matrix.Apply(columns, rows)
		for offset, x := range columns[:s.Sent()] {
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
	return body, own
}

// secret copies part of a vector to x, as field elements. The vector is divided into secrets of
// f.words elements. The part starts at element start of secret a. Both count from 0. Where x goes
// beyond the end of the vector, it gets zeros.
func (f *Federation) secret(x []uint64, vector []int64, a, start int) {
	vector = vector[min(a*f.words+start, len(vector)):]
	for i, v := range vector[:min(len(x), len(vector))] {
		x[i] = field.FromInteger(v)
	}
	clear(x[min(len(x), len(vector)):])
}

// blocks has a buffer for each of several columns. A buffer has packed.Block words, and all buffers
// are allocated at once.
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

// cut returns the first n words of each column's buffer. They are valid until the next call.
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

// getWords decodes words from b into dst, and reports whether all of them are field elements.
func getWords(dst []uint64, b []byte) bool { return decode(dst, b, 1<<64-1) }

// decode is like getWords, but keeps only the bits in mask.
func decode(dst []uint64, b []byte, mask uint64) bool {
	beyond := uint64(0)
	for ; len(dst) >= 4 && len(b) >= 4*wordSize; dst, b = dst[4:], b[4*wordSize:] {
		x0 := binary.BigEndian.Uint64(b) & mask
		x1 := binary.BigEndian.Uint64(b[wordSize:]) & mask
		x2 := binary.BigEndian.Uint64(b[2*wordSize:]) & mask
		x3 := binary.BigEndian.Uint64(b[3*wordSize:]) & mask
		dst[0], dst[1], dst[2], dst[3] = x0, x1, x2, x3
		beyond |= field.Beyond(x0) | field.Beyond(x1) | field.Beyond(x2) | field.Beyond(x3)
	}
	for i := range dst {
		dst[i] = binary.BigEndian.Uint64(b[i*wordSize:]) & mask
		beyond |= field.Beyond(dst[i])
	}
	return beyond == 0
}

// Unopened is the error for a deal that a holder cannot decrypt. Either the deal or the dealer's
// key for this holder was changed in transit, or the dealer is faulty.
type Unopened struct{ Dealer identity.Name }

func (u *Unopened) Error() string {
	return fmt.Sprintf("the deal of client %s cannot be read: it was changed on the way, or belongs to another plan or cut", u.Dealer)
}

// gather adds up the columns that a holder has in the deals of a cut. own is its column of its own
// deal. keys[p−1] is the key that the dealer at place p has drawn for it. pieces has the holder's
// parts of the deals, in the order of the cut, and is overwritten.
func (f *Federation) gather(holder int, own []uint64, keys []key, plan Hash, cut []Dealt, pieces []byte) ([]uint64, error) {
	columns := make([]column, len(cut))
	for i, c := range cut {
		if c.Place == holder {
			columns[i].own = own
			continue
		}
		offset := f.scheme.Offset(c.Place, holder)
		piece := pieces[:f.pieceSize(offset)]
		pieces = pieces[len(piece):]
		if !columns[i].open(dealing{plan, c.Place, c.Salt}, keys[c.Place-1], holder, offset < f.scheme.Sent(), piece) {
			return nil, &Unopened{f.Name(c.Place)}
		}
	}
	sum, in, all := make([]uint64, f.words), newBlocks(len(cut)), packed.Sum(len(cut))
	for from := 0; from < f.words; from += packed.Block {
		n := min(packed.Block, f.words-from)
		words := in.cut(n)
		for i, x := range words {
			if !columns[i].read(x) {
				return nil, &Unopened{f.Name(cut[i].Place)}
			}
		}
		all.Apply([][]uint64{sum[from : from+n]}, words)
	}
	return sum, nil
}

// A column reads the words that one dealer has dealt to one holder.
type column struct {
	own    []uint64 // words of the column if the dealer is the holder itself
	plain  []byte   // words of the column if the dealer has sent it
	stream *stream  // source of the words if the holder computes them from the dealer's key
}

// open prepares the column for reading. If piece is not from the dealer, it returns false.
func (c *column) open(d dealing, pair key, holder int, sent bool, piece []byte) bool {
	if pair == (key{}) {
		return false
	}
	use := tagUse
	if sent {
		use = sealUse
	} else {
		c.stream = d.stream(pair, holder)
	}
	var err error
	c.plain, err = d.aead(pair, holder, use).Open(piece[:0], nonce[:], piece, nil)
	return err == nil
}

// read fills dst with the next words. It reports whether all of them are field elements.
func (c *column) read(dst []uint64) bool {
	switch {
	case c.own != nil:
		c.own = c.own[copy(dst, c.own):]
		return true
	case c.stream != nil:
		c.stream.read(dst)
		return true
	}
	var b []byte
	b, c.plain = c.plain[:len(dst)*wordSize], c.plain[len(dst)*wordSize:]
	return getWords(dst, b)
}
