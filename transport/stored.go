package transport

import (
	"crypto/sha256"
	"sync"

	"google.golang.org/grpc/mem"
)

// Stored is a body on disk. The server reads it while sending it.
type Stored interface {
	Pieces
	Hash() Hash
}

// held is a body in memory, with its hash.
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

// pieceOf returns the n bytes of a body that start at the offset from. If the body is in memory,
// they are not copied. If it is on disk, they are read into a pooled buffer.
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

// hashes has the latest bodies in memory and their hashes. All followers of a study receive the
// same bodies, so each needs to be hashed only once.
type hashes struct {
	mu   sync.Mutex
	held [4]held // the latest bodies, newest first
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

// same reports whether two slices share their memory. If they do, they are equal, because bodies
// are never modified.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
