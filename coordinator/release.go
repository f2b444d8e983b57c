package coordinator

import (
	"bytes"
	"context"
	"io"
	"slices"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/transport"
)

// Limits on the size of a body's pieces, in bytes. Each piece costs a transaction and a key in the
// store, so only the last piece may be smaller than minPiece.
const (
	maxPiece = 1 << 20
	minPiece = 512
)

// Offer implements [transport.Coordinator]. With secure aggregation, it also accepts the other
// kinds of messages.
func (s *Study) Offer(ctx context.Context, peer channel.Party, envelope, whole []byte) (have int64, err error) {
	defer func() { err = s.count("offer", err) }()
	h, err := signed.Claims(envelope)
	if err != nil {
		return 0, malformed("the envelope", err)
	}
	if s.secure() {
		return s.offerShared(ctx, peer, h, envelope, whole)
	}
	if p := s.prompt(peer, h, envelope, whole); p != nil {
		return s.takePrompt(ctx, peer, p)
	}
	var w *written
	err = s.asClient(ctx, peer, func(b *batch, c *client) (err error) {
		if have, err = b.offer(peer.Name, c, h.Round, envelope, nil); err == nil {
			w = b.state.whole(peer.Name, h.Round)
		}
		return err
	})
	if err == nil && w != nil {
		err = s.finish(ctx, peer, w)
	}
	return have, err
}

// whole returns the client's answer if the whole body has arrived but the answer is not accepted
// yet. This happens if the coordinator was stopped in between. Otherwise whole returns nil.
func (st *state) whole(name identity.Name, ask uint64) *written {
	q := st.question(ask)
	if q == nil || q.offers[name] == nil {
		return nil
	}
	o := q.offers[name]
	if o.have != int64(o.release.Body.Size) {
		return nil
	}
	return &written{key: o.key, release: o.release, offer: o, value: o.value}
}

// offer records the envelope of an answer, and returns how many bytes of the body have arrived.
// checked is the verified content of the envelope, or nil if it has not been verified.
func (b *batch) offer(name identity.Name, c *client, ask uint64, envelope []byte, checked *transcript.Release) (have int64, err error) {
	s, st := b.study, b.state
	key, hash := store.ReleaseKey{Ask: ask, Client: string(name)}, transcript.BodyOf(envelope).Hash
	before, found, err := b.receipt(key)
	if err != nil {
		return 0, err
	}
	if found {
		if before != hash {
			return 0, b.contradiction(key, c, envelope)
		}
		h, err := signed.Claims(envelope)
		if err != nil {
			return 0, err
		}
		// The envelope was verified earlier, perhaps under an older version of the roster.
		return int64(seal.SealedSize(len(h.Bytes()), st.server.MaxRelease())), nil
	}
	q := st.open[ask]
	switch {
	case st.over():
		return 0, refuse(transport.Ended, "%s", st.ending())
	case q == nil:
		return 0, refuse(transport.OutOfPlace, "plan %d is not open: it was closed at its deadline, or not sent yet", ask)
	case c.left || !q.missing(name):
		return 0, refuse(transport.Denied, "plan %d does not include this client", ask)
	}
	if checked == nil {
		r, err := st.chain.VerifyRelease(envelope, c.entry.Key, ask, q.model)
		if err != nil {
			return 0, malformed("the release", err)
		}
		checked = &r
	}
	r := *checked
	if o := q.offers[name]; o != nil {
		if o.release.Hash != r.Hash {
			return 0, b.contradiction(key, c, envelope)
		}
		return o.have, nil
	}
	if r.Header.LedgerSeq <= c.lastSeq {
		return 0, refuse(transport.OutOfPlace, "the release was made at ledger entry %d, the last message at entry %d: the client's state is older than its messages", r.Header.LedgerSeq, c.lastSeq)
	}
	if want := s.opener.sealed(r.Header); r.Body.Size != want {
		return 0, refuse(transport.TooLarge, "the release has %d bytes: this study expects %d", r.Body.Size, want)
	}
	q.offers[name] = &offer{key: key, envelope: bytes.Clone(envelope), release: r}
	return 0, nil
}

// missing reports whether the plan still waits for the client's answer.
func (q *question) missing(name identity.Name) bool {
	_, asked := slices.BinarySearch(q.asked, pvi.ClientID(name))
	_, taken := q.taken[name]
	return asked && !taken
}

// contradiction handles a second envelope from a client that differs from its first one for the
// same plan. If the client has signed it, the coordinator keeps it as evidence.
func (b *batch) contradiction(key store.ReleaseKey, c *client, envelope []byte) error {
	h, err := signed.Claims(envelope)
	if err == nil {
		_, err = b.state.chain.VerifyRelease(envelope, c.entry.Key, key.Ask, h.Model)
	}
	if err != nil {
		return malformed("the release", err)
	}
	var first bool
	b.write(func(kept store.Study) (err error) {
		first, err = kept.PutEvidence(key, envelope)
		return err
	})
	b.then(func() {
		if first { // log only the first one, so that a client cannot fill the log
			b.study.log.Warn("a client signed two answers to one plan", "client", key.Client, "ask", key.Ask)
		}
	})
	return refuse(transport.OutOfPlace, "plan %d was answered with another release: a client can answer a plan only once", key.Ask)
}

// Write implements [transport.Coordinator].
func (s *Study) Write(ctx context.Context, peer channel.Party, envelope Hash, offset int64, piece []byte) (err error) {
	defer func() { err = s.count("write", err) }()
	if len(piece) > maxPiece {
		return refuse(transport.TooLarge, "a piece has at most %d bytes", maxPiece)
	}
	var w *written
	err = s.asClient(ctx, peer, func(b *batch, _ *client) (err error) {
		w, err = b.piece(peer.Name, envelope, offset, piece)
		return err
	})
	if err != nil || w == nil {
		return err
	}
	if s.secure() {
		return s.finishShared(ctx, peer, w)
	}
	return s.finish(ctx, peer, w)
}

// A written is an answer whose whole body has arrived.
type written struct {
	key     store.ReleaseKey
	release transcript.Release
	whole   []byte // body that arrived in one message and is not in the store, or nil
	// offer that collected the body; nil for a prompt, and after the body is removed
	offer *offer
	value *store.Value // body in a file of the store, or nil
}

// piece stores a piece of a body. Once the body is complete, it returns the answer, and before that
// nil.
func (b *batch) piece(name identity.Name, envelope Hash, offset int64, piece []byte) (*written, error) {
	_, o := b.state.offered(name, envelope)
	if o == nil {
		if b.state.took(name, envelope) {
			return nil, nil
		}
		// Either the plan has an outcome, or a write failed and the offer was lost. The client now
		// sends the envelope again, and gets the reason in reply.
		return nil, refuse(transport.Unavailable, "the coordinator does not expect a release with this envelope: offer it again")
	}
	key := o.key
	size, end := int64(o.release.Body.Size), offset+int64(len(piece))
	switch {
	case len(piece) == 0:
		return nil, refuse(transport.OutOfPlace, "the piece is empty")
	case offset < 0 || offset > size || end > size:
		return nil, refuse(transport.TooLarge, "the piece exceeds the %d bytes of the release", size)
	case offset == 0 && end == size && o.have == 0:
		return &written{key: key, release: o.release, whole: piece}, nil
	case end <= o.have && o.have == size:
		return &written{key: key, release: o.release, offer: o, value: o.value}, nil
	case end <= o.have:
		return nil, nil // another call has already delivered all bytes of this piece
	case offset > o.have:
		return nil, refuse(transport.Unavailable, "the piece begins at byte %d, but byte %d is next: offer the release again", offset, o.have)
	case end-o.have < minPiece && end < size:
		return nil, refuse(transport.Unavailable, "the piece has %d new bytes: only the last may have fewer than %d", end-o.have, minPiece)
	}
	piece, offset = piece[o.have-offset:], o.have // skip the bytes that another call has already delivered
	if !o.stored {
		b.write(func(st store.Study) error { return st.PutOffer(key, o.envelope) })
	}
	o.stored = true
	if err := b.keepPiece(key, o, offset, piece); err != nil {
		return nil, b.undo(err)
	}
	o.have = end
	if end < size {
		return nil, nil
	}
	return &written{key: key, release: o.release, offer: o, value: o.value}, nil
}

// keepPiece stores the next piece of a body, in a file if the body is long. If the coordinator
// stops before the file is complete, the file is lost, and the client must send the body again.
func (b *batch) keepPiece(key store.ReleaseKey, o *offer, offset int64, piece []byte) (err error) {
	// earlier versions of the program kept the first pieces in the database
	if !b.study.hub.store.IsLong(int64(o.release.Body.Size)) || o.writer == nil && offset > 0 {
		// the caller leaves the piece unchanged until this write is on disk
		b.write(func(st store.Study) error { return st.PutPiece(key, offset, piece) })
		return nil
	}
	if o.writer == nil {
		o.writer = b.study.hub.store.NewWriter(b.study.hash)
	}
	if _, err := o.writer.Write(piece); err != nil {
		return err
	}
	if offset+int64(len(piece)) == int64(o.release.Body.Size) {
		o.value, err = o.writer.Finish()
	}
	return err
}

func (s *Study) discard(o *offer) {
	if o.writer != nil {
		o.writer.Discard()
	}
	if err := s.hub.store.Discard(s.hash, o.value); err != nil {
		s.log.Warn("cannot remove the file of an answer: it stays until the coordinator starts again", "error", err)
	}
}

// offered returns the client's offer that has the given envelope, and the number of its plan. The
// number is 0 for the keys of secure sums. If there is no such offer, it returns 0 and nil.
func (st *state) offered(name identity.Name, envelope Hash) (uint64, *offer) {
	for ask, q := range st.open {
		if o := q.offers[name]; o != nil && o.release.Hash == envelope {
			return ask, o
		}
	}
	if st.secure != nil {
		if o := st.secure.keying.offers[name]; o != nil && o.release.Hash == envelope {
			return 0, o
		}
	}
	return 0, nil
}

// took reports whether the client's last accepted answer has the given envelope.
func (st *state) took(name identity.Name, envelope Hash) bool {
	c := st.clients[name]
	return c != nil && c.last != nil && transcript.BodyOf(c.last).Hash == envelope
}

// finish checks and decrypts a complete answer. It then accepts the answer or drops its body.
func (s *Study) finish(ctx context.Context, peer channel.Party, w *written) error {
	release, err := s.opener.acquire(ctx)
	if err != nil {
		return err // the study is over, or the context of the call is done
	}
	defer release()
	p, fault, unread := s.opened(w)
	return s.asClient(ctx, peer, func(b *batch, c *client) error {
		defer release() // another answer can be decrypted while this answer is written to disk
		switch {
		case fault != nil:
			return b.drop(peer.Name, w, fault)
		case unread != nil: // not an error: the plan may have got its outcome, and the body been removed
			if awaited, err := b.awaits(peer.Name, c, w); err != nil || !awaited {
				return err
			}
			return unread
		}
		return b.take(peer.Name, c, w, p)
	})
}

// drop removes the body of an answer that cannot be accepted, but keeps the envelope. It returns
// the refusal fault.
func (b *batch) drop(name identity.Name, w *written, fault error) error {
	ask, o := b.state.offered(name, w.release.Hash)
	if o == nil || w.offer != nil && w.offer != o {
		return fault
	}
	if o.stored {
		b.write(func(kept store.Study) error { return kept.DropBody(w.key) })
	}
	b.then(func() { b.study.discard(o) })
	if !o.refused { // log only the first refusal, so that a client cannot fill the log
		b.then(func() {
			b.study.log.Warn("an answer was refused: its client counts as missing", "client", name, "ask", ask, "why", fault)
		})
	}
	b.state.question(ask).offers[name] = &offer{key: o.key, envelope: o.envelope, release: o.release, deal: o.deal, stored: o.stored, refused: true}
	return fault
}

// awaits reports whether the plan still waits for an answer that was checked. It returns false if
// another call has accepted the answer. It returns a refusal if the plan no longer waits for this
// client, or if the stored bytes were removed.
func (b *batch) awaits(name identity.Name, c *client, w *written) (bool, error) {
	if hash, found, err := b.receipt(w.key); err != nil || found && hash == w.release.Hash {
		return false, err
	}
	q := b.state.open[w.key.Ask]
	if q == nil || q.offers[name] == nil || q.offers[name].release.Hash != w.release.Hash {
		return false, refuse(transport.OutOfPlace, "plan %d was closed while the answer was sent", w.key.Ask)
	}
	if c.left || !q.missing(name) {
		return false, refuse(transport.OutOfPlace, "plan %d no longer waits for an answer of this client", w.key.Ask)
	}
	if w.offer != nil && w.offer != q.offers[name] {
		return false, refuse(transport.Unavailable, "the bytes of the release were dropped while they were checked: offer it again")
	}
	return true, nil
}

// take adds an answer to the sum and stores it. After the last answer, it signs the outcome. If an
// answer is invalid, take drops it.
func (b *batch) take(name identity.Name, c *client, w *written, p payload) error {
	s, st, ask := b.study, b.state, w.key.Ask
	if awaited, err := b.awaits(name, c, w); err != nil || !awaited {
		return err
	}
	body, err := p()
	if err != nil {
		return b.undo(err)
	}
	if err := b.committed(w.release, body); err != nil {
		return b.drop(name, w, err)
	}
	outcome, err := st.server.Collect(pvi.ClientID(name), int(ask), body)
	if why, ok := refusedBy(err); ok {
		return b.drop(name, w, refuse(transport.Malformed, "%s", why))
	}
	if err != nil {
		if err := b.fail(err); err != nil {
			return b.undo(err)
		}
		return refuse(transport.Ended, "%s", st.ending())
	}
	if err := b.record(name, c, w); err != nil {
		return b.undo(err)
	}
	published, err := b.published(w.key, body)
	if err != nil {
		return b.undo(err)
	}
	if published != nil {
		b.write(func(kept store.Study) error { return kept.PutPublished(w.key, published) })
	}
	b.then(func() { s.log.Info("an answer was accepted", "client", name, "ask", ask) })
	if outcome != nil {
		if err := b.close(outcome); err != nil {
			return b.undo(err)
		}
	}
	return nil
}

// record records and stores an accepted message. If it is an answer to a plan, it gets a receipt.
func (b *batch) record(name identity.Name, c *client, w *written) (err error) {
	value := w.value
	if w.whole != nil {
		if value, err = b.study.hub.store.Prepare(b.study.hash, bytesOf(w.whole)); err != nil {
			return err
		}
	}
	q := b.state.question(w.key.Ask)
	o := q.offers[name]
	delete(q.offers, name)
	if w.key.Step == store.Answering {
		q.taken[name] = o.envelope
	}
	answer := w.key.Step == store.Answering && w.key.Ask > 0
	if answer {
		c.last, c.lastSeq = o.envelope, w.release.Header.LedgerSeq
		c.answers++
		b.receipts = append(b.receipts, transcript.ReceiptOf(name, w.release.Header, w.release.Hash))
	}
	b.write(func(kept store.Study) error {
		if value != nil {
			if err := kept.PutBody(w.key, value); err != nil {
				return err
			}
		}
		if answer {
			if err := kept.Put(store.Last, string(name), o.envelope); err != nil {
				return err
			}
		}
		return kept.Take(w.key, o.envelope)
	})
	b.then(b.study.events.Took)
	return nil
}

// published writes a release to a file. If clients do not fetch the plan's releases one by one, it
// returns nil.
func (b *batch) published(k store.ReleaseKey, release []byte) (*store.Value, error) {
	s, st, ask := b.study, b.state, int(k.Ask)
	if !st.chain.Fetches() || !st.server.Fetched(ask) {
		return nil, nil
	}
	return s.hub.store.PrepareFile(s.hash, func(w io.Writer) error { return st.server.WriteRelease(w, ask, release) })
}

// committed returns a refusal if a release does not have the hash that the client has signed, in a
// study with commitments. Otherwise one client could cause an outcome with signatures that do not
// match its releases.
func (b *batch) committed(r transcript.Release, release []byte) error {
	if !b.state.chain.Commits() {
		return nil
	}
	hash, err := b.state.server.Commitment(int(r.Header.Round), release)
	if err != nil {
		return malformed("the release", err)
	}
	if hash != r.Commitment {
		return refuse(transport.Malformed, "the release is not the one whose hash is signed")
	}
	return nil
}
