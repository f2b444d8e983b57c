package coordinator

import (
	"slices"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
)

// The receipts can be computed from the envelopes on disk, so only those of the current batch are
// in memory.

// receipt reports whether the answer with the key k was accepted. If so, it also returns the hash
// of the envelope.
func (b *batch) receipt(k store.ReleaseKey) (h Hash, found bool, err error) {
	if q := b.state.open[k.Ask]; q != nil {
		envelope, found := q.taken[identity.Name(k.Client)]
		return transcript.BodyOf(envelope).Hash, found, nil
	}
	for _, r := range b.receipts {
		if r.Ask == k.Ask && string(r.Client) == k.Client {
			return r.Release, true, nil
		}
	}
	return b.stored(k)
}

// stored is like receipt, but looks for any message in the store.
func (b *batch) stored(k store.ReleaseKey) (hash Hash, found bool, err error) {
	err = b.study.look(func(kept store.Study) error {
		if envelope := kept.Release(k); envelope != nil {
			hash, found = transcript.BodyOf(envelope).Hash, true
		}
		return nil
	})
	return hash, found, err
}

// allReceipts returns the receipts of all accepted answers, sorted by plan, then client.
func (b *batch) allReceipts() ([]transcript.Receipt, error) {
	all := slices.Clone(b.receipts)
	err := b.study.look(func(kept store.Study) error {
		return kept.Releases(1, func(k store.ReleaseKey, envelope []byte) error {
			h, err := signed.Claims(envelope)
			all = append(all, transcript.ReceiptOf(identity.Name(k.Client), h, transcript.BodyOf(envelope).Hash))
			return err
		})
	})
	slices.SortFunc(all, transcript.Receipt.Compare)
	return all, err
}
