package coordinator

import (
	"fmt"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

// newItem is an entry as it is shown once it is on disk. A long body stays there.
func (s *Study) newItem(number uint64, envelope []byte, body *store.Value) transport.Item {
	if !body.Long() {
		return transport.Item{Envelope: envelope, Body: body.Head}
	}
	return transport.Item{Envelope: envelope, Stored: &storedBody{s, number, transcript.Body{Size: uint64(body.Size), Hash: body.Hash}}}
}

// item returns an entry that is there.
func (s *Study) item(number uint64) (i transport.Item, err error) {
	if i, ok := s.cache.get(number); ok {
		return i, nil
	}
	err = s.look(func(kept store.Study) error {
		var size int64
		if i.Envelope, size = kept.Envelope(number); !store.IsLong(size) {
			_, i.Body = kept.Item(number)
			return nil
		}
		said, err := transcript.ClaimedBody(i.Envelope)
		if err != nil || said.Size != uint64(size) {
			return fmt.Errorf("%w: entry %d of the transcript", store.ErrDamaged, number)
		}
		i.Stored = &storedBody{s, number, said}
		return nil
	})
	return i, err
}

// look looks at what is on disk of the study.
func (s *Study) look(f func(store.Study) error) error {
	return s.hub.store.View(func(tx *store.Tx) error {
		kept, err := tx.Study(s.hash)
		if err != nil {
			return err
		}
		return f(kept)
	})
}

// A storedBody is the body of an entry, on disk. It does not change.
type storedBody struct {
	study  *Study
	number uint64
	body   transcript.Body
}

func (b *storedBody) Size() uint64 { return b.body.Size }
func (b *storedBody) Hash() Hash   { return b.body.Hash }

func (b *storedBody) Read(into []byte, from int64) error {
	return b.study.look(func(kept store.Study) error { return kept.ReadBody(b.number, into, from) })
}
