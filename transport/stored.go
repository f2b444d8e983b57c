package transport

import (
	"crypto/sha256"
	"sync"

	"google.golang.org/grpc/mem"
)

// Stored is a body on disk, which the server reads while it sends it.
type Stored interface {
	Pieces
	Hash() Hash
}

// held is a body in memory with its hash.
type held struct {
	body []byte
	sum  Hash
}

func (h held) Size() uint64 { return uint64(len(h.body)) }
func (h held) Hash() Hash   { return h.sum }

func (h held) Read(b []byte, from int64) error {
	copy(b, h.body[from:])
	return nil
}

// pieceOf returns n bytes of a body from the offset from. A body in memory is not copied. A body on
// disk is read into a pooled buffer.
func pieceOf(body Pieces, from uint64, n int) (mem.Buffer, error) {
	if h, ok := body.(held); ok {
		return mem.SliceBuffer(h.body[from:][:n]), nil
	}
	pool := mem.DefaultBufferPool()
	b := pool.Get(n)
	if err := body.Read(*b, int64(from)); err != nil {
		pool.Put(b)
		return nil, err
	}
	return mem.NewBuffer(b, pool), nil
}

// hashes contains the last bodies in memory, with their hashes. All followers of a study receive
// the same bodies, so each is hashed only once.
type hashes struct {
	mu   sync.Mutex
	held [4]held // the last bodies, the newest first
}

func (s *hashes) hashed(body []byte) held {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		if h.sum != (Hash{}) && same(h.body, body) {
			return h
		}
	}
	copy(s.held[1:], s.held[:])
	s.held[0] = held{body, sha256.Sum256(body)}
	return s.held[0]
}

// same reports whether two slices share their memory. Bodies are never modified, so they are then
// equal.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
