package coordinator

import (
	"context"
	"sync"

	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
)

// An opener decrypts answers. It limits how many decrypted answers are in memory at once.
type opener struct {
	mu   sync.RWMutex
	key  *seal.Key // nil before the study begins and after it is over
	size int       // size in bytes of a decrypted answer with its padding
	// one value for each answer that is being decrypted; the capacity is the limit
	tokens chan struct{}
}

// use sets the key that decrypts answers, and erases the previous one in memory. Clients pad their
// answers to size bytes.
func (o *opener) use(key *seal.Key, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.key != nil {
		o.key.Wipe()
	}
	o.key = key
	if o.tokens != nil {
		return
	}
	chunk := min(max(1, size), maxPiece) // only one chunk of a long answer is in memory
	o.size, o.tokens = size, make(chan struct{}, min(maxBatch, openingBytes/chunk))
}

func (o *opener) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.key != nil {
		o.key.Wipe()
		o.key, o.tokens = nil, nil
	}
}

// sealed returns the size of an encrypted answer whose header is h, or 0 if there is no key.
func (o *opener) sealed(h signed.Header) uint64 {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.key == nil {
		return 0
	}
	return uint64(seal.SealedSize(len(h.Bytes()), o.size))
}

// acquire waits until the caller may decrypt an answer. If the key was destroyed, it returns
// errDestroyed. The caller must call release once the answer is accepted or refused. It may call
// release twice.
func (o *opener) acquire(ctx context.Context) (release func(), err error) {
	o.mu.RLock()
	tokens := o.tokens
	o.mu.RUnlock()
	if tokens == nil {
		return nil, errDestroyed
	}
	select {
	case tokens <- struct{}{}:
		return sync.OnceFunc(func() { <-tokens }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// open decrypts an answer whose body is in memory.
func (o *opener) open(h signed.Header, body []byte) ([]byte, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.key == nil {
		return nil, errDestroyed
	}
	return o.key.Open(body, h.Bytes(), o.size)
}

// openAt checks an answer in the store and returns its payload, which can be read chunk by chunk.
func (o *opener) openAt(h signed.Header, body stored) (*seal.Payload, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.key == nil {
		return nil, errDestroyed
	}
	return o.key.OpenAt(body, body.size, h.Bytes(), o.size)
}
