package phase

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
)

// A Fetch obtains the release of client of and writes its bytes, as [WriteRelease] does, to w. hash
// is the hash that the client has signed for these bytes, and size is their number. A Fetch stops
// at the first error from w.
type Fetch func(of ClientID, hash Digest, size int64, w io.Writer) error

// AddUp fetches the releases that an outcome counts, one after the other. It returns a refusal if
// a release is not the one that its client has signed, or if the releases do not add up to the
// outcome's sum. AddUp keeps no release in memory. name is the name of the outcome in errors, and
// limit is the largest absolute value of an element. clients is in the order of the roster, and
// signed holds the hash that each of these clients has signed.
func AddUp(name string, clients []ClientID, signed []Digest, sum []int64, limit int64, fetch Fetch) error {
	a := adder{sum: make([]int64, len(sum)), limit: limit}
	for m, id := range clients {
		a.hash, a.at, a.refused = sha256.New(), 0, false
		err := fetch(id, signed[m], elementSize*int64(len(sum)), &a)
		if a.refused {
			return Refuse("the release of client %q in the outcome of %s is beyond what the mechanism can yield", id, name)
		}
		if err != nil {
			return err
		}
		if Digest(a.hash.Sum(nil)) != signed[m] {
			return Refuse("the release of %s in the outcome of %s is not the one that this client has signed: the coordinator has changed it", id, name)
		}
	}
	return checkAdded(name, a.sum, sum, len(clients))
}

// An adder adds releases, whose bytes arrive in pieces of any size, to a sum.
type adder struct {
	sum     []int64
	limit   int64
	hash    hash.Hash         // hash of the present release
	at      int               // number of bytes of the present release that the adder has read
	part    [elementSize]byte // bytes of an element that is not complete
	refused bool              // whether the present release is too long, or has an element beyond the limit
}

func (a *adder) Write(b []byte) (int, error) {
	a.hash.Write(b)
	for rest := b; len(rest) > 0; {
		from := a.at % elementSize
		n := copy(a.part[from:], rest)
		rest = rest[n:]
		i := a.at / elementSize
		if a.at += n; a.at%elementSize > 0 {
			break // the next bytes complete the element
		}
		x := int64(binary.LittleEndian.Uint64(a.part[:]))
		if i == len(a.sum) || x > a.limit || x < -a.limit {
			a.refused = true
			return 0, io.ErrShortWrite
		}
		a.sum[i] += x
	}
	return len(b), nil
}
