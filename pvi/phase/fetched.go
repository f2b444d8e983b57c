package phase

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
)

// A Fetch writes the bytes of a client's release to w, as [WriteRelease] does. hash is the signed
// hash of these bytes, and size their number. It stops at the first error from w.
type Fetch func(of ClientID, hash Digest, size int64, w io.Writer) error

// AddUp fetches the releases that an outcome counts one by one. It returns a refusal if a release
// is not the signed one, or if they do not add up to sum. It keeps no release in memory. name is
// the outcome in errors, and limit the largest absolute value of an element. clients is in the
// order of the roster, and signed has their hashes.
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

// An adder adds up releases whose bytes arrive in pieces.
type adder struct {
	sum     []int64
	limit   int64
	hash    hash.Hash         // hash of the present release
	at      int               // bytes of the present release so far
	part    [elementSize]byte // bytes of an incomplete element
	refused bool              // whether the present release is too long, or has too large an element
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
