package coordinator

import (
	"context"
	"errors"
	"sync"

	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
)

var errDestroyed = errors.New("the key that opens answers was destroyed, as the study is over")

// An opener opens sealed answers, and not too many at once: each takes several times
// its size in memory.
type opener struct {
	mu     sync.RWMutex
	key    *seal.Key // nil before the study has begun and after it is over
	size   int       // of the padded payload
	tokens chan struct{}
}

// load prepares for answers of a padded size.
func (o *opener) load(path string, size int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.key != nil {
		return nil
	}
	key, err := seal.Load(path)
	if err != nil {
		return err
	}
	o.key, o.size, o.tokens = key, size, make(chan struct{}, openers(size))
	return nil
}

// forget destroys the key, in memory and in its file.
func (o *opener) forget(path string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.key != nil {
		o.key.Wipe()
		o.key = nil
	}
	return destroy(path)
}

// sealed returns the size of a sealed body under a header; 0 if none is taken.
func (o *opener) sealed(h signed.Header) uint64 {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.key == nil {
		return 0
	}
	return uint64(seal.SealedSize(len(h.Bytes()), o.size))
}

// acquire waits until another answer may be opened; the caller calls release after.
func (o *opener) acquire(ctx context.Context) (release func(), err error) {
	o.mu.RLock()
	tokens := o.tokens
	o.mu.RUnlock()
	if tokens == nil {
		return nil, errDestroyed
	}
	select {
	case tokens <- struct{}{}:
		return func() { <-tokens }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// open returns the payload of an answer.
func (o *opener) open(h signed.Header, body []byte) ([]byte, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.key == nil {
		return nil, errDestroyed
	}
	return o.key.Open(body, h.Bytes(), o.size)
}
