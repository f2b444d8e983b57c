package coordinator

import (
	"errors"
	"fmt"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

// newItem converts a transcript entry to the form that clients receive. A long body is read from
// disk only when it is sent.
func (s *Study) newItem(e transcript.Entry, envelope []byte, body *store.Value) transport.Item {
	i := transport.Item{Envelope: envelope, Derived: s.derived(e)}
	if body.Long() {
		i.Stored = s.storedBody(e.Number, e.Body)
	} else {
		i.Body = body.Bytes
	}
	return i
}

// derived reports whether clients can compute the body of an entry from earlier entries. They can
// for a plan and, with secure aggregation, for an outcome, because the opening already has the sum.
func (s *Study) derived(e transcript.Entry) bool {
	return e.Kind.Plan() || e.Kind.Outcome() && s.secure()
}

// item returns an entry of the transcript, from the cache or the store.
func (s *Study) item(number uint64) (i transport.Item, err error) {
	if i, ok := s.cache.get(number); ok {
		return i, nil
	}
	err = s.look(func(kept store.Study) error {
		var size int64
		i.Envelope, size = kept.Envelope(number)
		e, err := transcript.Claims(i.Envelope)
		if err != nil || e.Body.Size != uint64(size) {
			return fmt.Errorf("%w: entry %d of the transcript", store.ErrDamaged, number)
		}
		if i.Derived = s.derived(e); s.hub.store.IsLong(size) {
			i.Stored = s.storedBody(number, e.Body)
			return nil
		}
		_, i.Body, err = kept.Item(number)
		return err
	})
	return i, err
}

// look runs f on the study in the store. If the store cannot be read now, for example because the
// disk is full, look returns errStore, so that the client tries again later.
func (s *Study) look(f func(store.Study) error) error {
	var own error
	err := s.hub.store.ViewStudy(s.hash, func(kept store.Study) error {
		own = f(kept)
		return own
	})
	if err != nil && own == nil && !errors.Is(err, store.ErrDamaged) {
		s.log.Error("the state cannot be read now", "error", err)
		return errStore
	}
	return err
}

// A storedBody is the body of an entry on disk. It implements [transport.Stored].
type storedBody struct {
	stored
	hash Hash
}

func (b storedBody) Hash() Hash { return b.hash }

func (s *Study) storedBody(number uint64, body transcript.Body) storedBody {
	return storedBody{stored{int64(body.Size), func(b []byte, from int64) error {
		return s.look(func(kept store.Study) error { return kept.ReadBody(number, b, from) })
	}}, body.Hash}
}
