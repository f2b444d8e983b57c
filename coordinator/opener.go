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
	key    *seal.Key     // nil before the study has begun and after it is over
	size   int           // of the padded payload
	tokens chan *buffers // one for each that may be opened at once
}

// Buffers are for opening one answer after the other: its bytes where they come from the store, which it is opened
// in the place of, and else what is in it.
type buffers struct{ body, plain []byte }

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
	o.key, o.size, o.tokens = key, size, make(chan *buffers, openers(size))
	for range cap(o.tokens) {
		o.tokens <- &buffers{}
	}
	return nil
}

// forget destroys the key, in memory and in its file.
func (o *opener) forget(path string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.key != nil {
		o.key.Wipe()
		o.key, o.tokens = nil, nil
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

// acquire waits until another answer may be opened, and returns the buffers for it; the caller gives them
// back with release, once or more often, and what is in them is gone then.
func (o *opener) acquire(ctx context.Context) (in *buffers, release func(), err error) {
	o.mu.RLock()
	tokens := o.tokens
	o.mu.RUnlock()
	if tokens == nil {
		return nil, nil, errDestroyed
	}
	select {
	case in = <-tokens:
		return in, sync.OnceFunc(func() { clear(in.plain); clear(in.body); tokens <- in }), nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// longAnswer is the size from which buffers are not kept from round to round.
const longAnswer = 1 << 20

// shed gives back the memory of buffers for long answers that nobody uses: when a round is written it
// is needed for that.
func (o *opener) shed() {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.size < longAnswer {
		return
	}
	for range cap(o.tokens) {
		select {
		case <-o.tokens:
			o.tokens <- &buffers{}
		default:
			return
		}
	}
}

// open returns the payload of an answer, in buffers. A body that is one of them is lost.
func (o *opener) open(h signed.Header, body []byte, in *buffers) (payload []byte, err error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.key == nil {
		return nil, errDestroyed
	}
	if len(body) > 0 && len(in.body) > 0 && &in.body[0] == &body[0] {
		return o.key.OpenInPlace(body, h.Bytes(), o.size)
	}
	payload, in.plain, err = o.key.OpenIn(in.plain, body, h.Bytes(), o.size)
	return payload, err
}
