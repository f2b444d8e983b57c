package coordinator

import (
	"context"
	"sync"

	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
)

// An opener decrypts answers, and limits how many decrypted answers are in memory at the same time.
type opener struct {
	mu   sync.RWMutex
	key  *seal.Key // nil before the study begins and after it is over
	size int       // size in bytes of the decrypted and padded answer
	// one value for each answer that is being decrypted; its capacity limits their number
	tokens chan struct{}
}

// use sets the key that decrypts answers, and erases the previous key in memory. size is the size in
// bytes to which clients pad their answers.
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
	chunk := min(max(1, size), maxPiece) // of a long answer only one chunk is in memory
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

// sealed returns the size in bytes of the encrypted body of an answer with the header h. If there
// is no key, it returns 0.
func (o *opener) sealed(h signed.Header) uint64 {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.key == nil {
		return 0
	}
	return uint64(seal.SealedSize(len(h.Bytes()), o.size))
}

// acquire waits until the caller is allowed to decrypt an answer. If the study has no key any more,
// it returns errDestroyed. The caller must call release after the answer was accepted or refused.
// Further calls of release do nothing.
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

// openAt prepares the decryption of an answer in the store, and returns an error if the answer is
// invalid. The payload can then be read chunk by chunk.
func (o *opener) openAt(h signed.Header, body stored) (*seal.Payload, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.key == nil {
		return nil, errDestroyed
	}
	return o.key.OpenAt(body, body.size, h.Bytes(), o.size)
}
