package coordinator

import (
	"bytes"
	"context"
	"errors"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

// With secure aggregation, clients send keys, deals, confirmations and shares. All except
// confirmations have a body, which arrives in pieces like the body of an answer. The coordinator
// cannot decrypt keys or deals.

// offerShared accepts the envelope of a message of secure aggregation. It returns how many bytes of
// the body the coordinator already has.
func (s *Study) offerShared(ctx context.Context, peer channel.Party, h signed.Header, envelope, whole []byte) (have int64, err error) {
	var body transcript.Body
	if len(whole) > 0 {
		body = transcript.BodyOf(whole)
	}
	var w *written
	err = s.asClient(ctx, peer, func(b *batch, c *client) error {
		if b.state.secure == nil {
			return refuse(transport.OutOfPlace, "the study has not begun or is over")
		}
		o, known, err := b.offered(peer.Name, c, h, envelope)
		switch {
		case err != nil:
			return err
		case known:
			have = int64(o.release.Body.Size)
			return nil
		}
		have = o.have
		if have == 0 && uint64(len(whole)) == o.release.Body.Size {
			have = int64(len(whole))
			return b.accept(peer.Name, c, &written{key: o.key, release: o.release, whole: whole}, body)
		}
		w = b.state.whole(peer.Name, o.key.Ask)
		return nil
	})
	if err == nil && w != nil {
		err = s.finishShared(ctx, peer, w)
	}
	return have, err
}

// offered checks the envelope of a message and returns the offer that collects its body. known is
// true if no body is needed, because the message was accepted earlier or came too late.
func (b *batch) offered(name identity.Name, c *client, h signed.Header, envelope []byte) (o *offer, known bool, err error) {
	st := b.state
	o = &offer{envelope: bytes.Clone(envelope), key: store.ReleaseKey{Ask: h.Round, Client: string(name)}}
	switch h.Domain {
	case signed.Keys, signed.Deal:
	case signed.Share:
		o.key.Step = store.Sharing
	default:
		return nil, false, refuse(transport.Malformed, "the study accepts keys, deals and shares, but no other kind of message")
	}
	hash := transcript.BodyOf(envelope).Hash
	if before, found, err := b.message(o.key); err != nil || found {
		if err == nil && before != hash {
			err = b.contradictory(o.key, c, envelope)
		}
		o.release.Body.Size = b.state.secure.size(h.Domain)
		return o, true, err
	}
	if st.over() {
		return nil, false, refuse(transport.Ended, "%s", st.ending())
	}
	q := st.question(h.Round)
	if q == nil || c.left {
		return nil, false, refuse(transport.OutOfPlace, "plan %d is not open: it was closed at its deadline, or not sent yet", h.Round)
	}
	if before := q.offers[name]; before != nil && before.release.Hash == hash {
		return before, false, nil
	}
	if h.Roster != st.chain.Header(h.Domain, h.Round, h.Model).Roster {
		return nil, false, refuse(transport.OutOfPlace, "the message belongs to another version of the roster: follow the transcript")
	}
	err = st.secure.read(o)
	switch {
	case errors.Is(err, sums.ErrLate) && h.Domain == signed.Share:
		o.release.Body.Size = st.secure.size(h.Domain)
		return o, true, nil
	case errors.Is(err, sums.ErrLate):
		return nil, false, refuse(transport.OutOfPlace, "the deal for plan %d came after its cut", h.Round)
	case err != nil:
		return nil, false, malformed("the message", err)
	case o.release.Header.Sender != c.entry.Key.Fingerprint():
		return nil, false, refuse(transport.Denied, "the message: %v", signed.ErrSender)
	case h.Domain == signed.Deal && st.secure.leftOut[st.secure.federation.Place(name)]:
		return nil, false, refuse(transport.Denied, "other clients could not decrypt the last deal of this client: it is left out of the rest of the study")
	case h.Domain == signed.Deal && h.LedgerSeq <= c.lastSeq:
		return nil, false, refuse(transport.OutOfPlace, "the deal was made at ledger entry %d, the last message at entry %d: the client's state is older than its messages", h.LedgerSeq, c.lastSeq)
	}
	if before := q.offers[name]; before != nil {
		if before.key == o.key {
			return nil, false, b.contradictory(o.key, c, envelope)
		}
		b.then(func() { b.study.discard(before) })
	}
	q.offers[name] = o
	return o, false, nil
}

// read verifies the envelope of o, and records the size and hash that the body must have. For a
// share it records only the size, because a share is verified when it is accepted.
func (x *secure) read(o *offer) error {
	h, err := signed.Claims(o.envelope)
	if err != nil {
		return err
	}
	o.release = transcript.Release{Header: h, Hash: transcript.BodyOf(o.envelope).Hash}
	o.release.Body.Size = x.size(h.Domain)
	switch h.Domain {
	case signed.Keys:
		// AddKeys also records that the client has sent its keys, but the body has not arrived yet.
		// So verify the envelope with a new state machine.
		_, o.release.Body, err = sums.NewCoordinator(x.federation).AddKeys(o.envelope)
	case signed.Deal:
		o.deal, err = x.machine.CheckDeal(o.envelope)
		o.release.Body = o.deal.Body
	default:
		if step := x.machine.Step(); x.machine.Ask() != h.Round || step < sums.Sharing {
			return signed.ErrRound
		} else if step > sums.Sharing {
			return sums.ErrLate
		}
	}
	return err
}

// size returns the size in bytes of the body of a message.
func (x *secure) size(domain identity.Domain) uint64 {
	switch domain {
	case signed.Keys:
		return uint64(x.federation.KeysSize())
	case signed.Deal:
		return uint64(x.federation.DealSize())
	}
	return uint64(x.federation.ShareSize())
}

// message looks up the accepted message that has the key k, and returns the hash of its envelope.
func (b *batch) message(k store.ReleaseKey) (hash Hash, found bool, err error) {
	if q := b.state.question(k.Ask); q != nil && k.Step == store.Answering {
		envelope, found := q.taken[identity.Name(k.Client)]
		if found || k.Ask > 0 {
			return transcript.BodyOf(envelope).Hash, found, nil
		}
	}
	return b.stored(k)
}

// contradictory handles a second message from a client that differs from its first one for the same
// step. If it is a deal, the coordinator keeps it as evidence.
func (b *batch) contradictory(key store.ReleaseKey, c *client, envelope []byte) error {
	x := b.state.secure
	if q := b.state.open[key.Ask]; q != nil && x.machine.Ask() == key.Ask {
		if _, err := signed.Verify(envelope, c.entry.Key, b.state.chain.Header(signed.Deal, key.Ask, q.model)); err == nil {
			b.write(func(kept store.Study) error {
				_, err := kept.PutEvidence(key, envelope)
				return err
			})
		}
	}
	if key.Ask == 0 { // other clients could not decrypt deals made with two sets of keys, so the client must stop
		return refuse(transport.Denied, "this client has sent other keys before: its state directory is older than its messages, or a copy of it is in use elsewhere")
	}
	return refuse(transport.OutOfPlace, "this client has sent another message of this kind for plan %d: it can send only one", key.Ask)
}

// finishShared accepts a message whose whole body has arrived.
func (s *Study) finishShared(ctx context.Context, peer channel.Party, w *written) error {
	body, unread := s.bodyOf(w)
	return s.asClient(ctx, peer, func(b *batch, c *client) error {
		hash, found, err := b.message(w.key)
		if err != nil || found && hash == w.release.Hash {
			return err
		}
		q := b.state.question(w.key.Ask)
		if q == nil || q.offers[peer.Name] == nil || q.offers[peer.Name].release.Hash != w.release.Hash {
			return refuse(transport.OutOfPlace, "plan %d was no longer waiting for the message", w.key.Ask)
		}
		if w.offer != nil && w.offer != q.offers[peer.Name] {
			return refuse(transport.Unavailable, "the bytes of the message were dropped while they were checked: offer it again")
		}
		if unread != nil {
			return unread
		}
		return b.accept(peer.Name, c, w, body)
	})
}

// accept adds a message to the open plan and stores it.
func (b *batch) accept(name identity.Name, c *client, w *written, body transcript.Body) error {
	st, s := b.state, b.study
	q := st.question(w.key.Ask)
	o := q.offers[name]
	err := b.add(o, w, body)
	if errors.Is(err, sums.ErrLate) {
		b.then(func() { s.discard(o) })
		delete(q.offers, name)
		b.write(func(kept store.Study) error { return kept.DropOffer(o.key) })
		return nil
	}
	if err != nil {
		return b.drop(name, w, malformed("the message", err))
	}
	if err := b.record(name, c, w); err != nil {
		return b.undo(err)
	}
	b.then(func() {
		s.log.Info("a message was accepted", "client", name, "ask", w.key.Ask, "kind", w.release.Header.Domain)
	})
	return nil
}

// add passes a complete message to the state machine of secure aggregation. body must be the one
// that the envelope describes.
func (b *batch) add(o *offer, w *written, body transcript.Body) (err error) {
	x := b.state.secure
	if w.key.Step == store.Answering && body != w.release.Body {
		return signed.ErrForm
	}
	switch {
	case w.key.Step == store.Sharing:
		words := w.whole
		if words == nil {
			words = make([]byte, w.release.Body.Size)
			if err := b.study.stored(w).read(words, 0); err != nil {
				return err
			}
		}
		_, err = x.machine.AddShare(o.envelope, bytes.Clone(words))
	case w.key.Ask == 0:
		_, _, err = x.machine.AddKeys(o.envelope)
	default:
		err = x.machine.AddDeal(o.deal)
	}
	return err
}

// Confirm implements [transport.Coordinator].
func (s *Study) Confirm(ctx context.Context, peer channel.Party, envelope []byte) (err error) {
	defer func() { err = s.count("confirm", err) }()
	return s.asClient(ctx, peer, func(b *batch, c *client) error {
		h, err := signed.Claims(envelope)
		switch {
		case err != nil:
			return malformed("the confirmation", err)
		case h.Study != s.hash || c.left:
			return refuse(transport.Denied, "the confirmation: %v", signed.ErrSender)
		case h.Sender == c.former && h.Sender != c.entry.Key.Fingerprint():
			return refuse(transport.OutOfPlace, "the message belongs to another version of the roster: follow the transcript")
		case h.Sender != c.entry.Key.Fingerprint():
			return refuse(transport.Denied, "the confirmation: %v", signed.ErrSender)
		case b.state.over():
			return refuse(transport.Ended, "%s", b.state.ending())
		case b.state.secure == nil || b.state.secure.machine.Ask() != h.Round:
			return refuse(transport.OutOfPlace, "plan %d is not open", h.Round)
		}
		_, err = b.state.secure.machine.AddConfirmation(envelope)
		if errors.Is(err, sums.ErrLate) {
			return nil
		}
		if err != nil {
			return malformed("the confirmation", err)
		}
		key := store.ReleaseKey{Ask: h.Round, Client: string(peer.Name), Step: store.Confirming}
		kept := bytes.Clone(envelope)
		b.write(func(st store.Study) error { return st.Take(key, kept) })
		return nil
	})
}

// Complain implements [transport.Coordinator].
func (s *Study) Complain(ctx context.Context, peer channel.Party, ask uint64, place int) (err error) {
	defer func() { err = s.count("complain", err) }()
	return s.asClient(ctx, peer, func(b *batch, _ *client) error {
		x := b.state.secure
		if x == nil || x.machine.Ask() != ask || x.machine.Step() != sums.Confirming {
			return refuse(transport.OutOfPlace, "plan %d does not wait for confirmations", ask)
		}
		for _, d := range x.machine.Cut() {
			if d.Place != place {
				continue
			}
			by := x.complaints[place]
			if by[peer.Name] {
				return nil // a complaint is logged only once, so that a client cannot fill the log
			}
			if by == nil {
				by = map[identity.Name]bool{}
				x.complaints[place] = by
			}
			by[peer.Name] = true
			b.then(func() {
				s.log.Warn("a client cannot decrypt the deal of another client", "client", peer.Name, "deal of", x.federation.Name(place), "ask", ask)
			})
			return nil
		}
		return refuse(transport.OutOfPlace, "the cut of plan %d has no deal from place %d", ask, place)
	})
}
