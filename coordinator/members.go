package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/crypto/keyfile"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/transcript"
	"fedpvi/internal/audit"
	"fedpvi/transport"
)

// keyChanges records how the members' keys have changed. The store keeps it as a note.
//
// Before the study begins, new keys are valid at once. Later, they wait until the open rounds have
// ended, and then one transcript entry makes the next version of the roster. A client's new TLS key
// is valid as soon as the coordinator has accepted it. Revoked keys are invalid at once.
type keyChanges struct {
	Versions []uint64 `json:"versions,omitempty"` // numbers of the entries that changed the roster
	// the coordinator's own renewals that are in force, oldest first
	Own [][]byte `json:"own,omitempty"`
	// renewals that wait for the next version of the roster, keyed by party
	Waiting map[identity.Name][]byte `json:"waiting,omitempty"`
	Revoked map[identity.Name]string `json:"revoked,omitempty"` // reasons for the revocations, keyed by client
	Made    map[identity.Name]int    `json:"made,omitempty"`    // number of renewals, keyed by client
}

// noteMembers is the name of the note with the key changes.
const noteMembers = "members"

// maxRenewals limits how often a client can renew its keys in a study. Each renewal makes the
// transcript longer, and with secure aggregation all clients exchange new keys.
const maxRenewals = 16

// readMembers reads the key changes from the store and finds the coordinator's own keys.
func (s *Study) readMembers(st *state, kept store.Study) error {
	st.changes = keyChanges{Waiting: map[identity.Name][]byte{}, Revoked: map[identity.Name]string{}, Made: map[identity.Name]int{}}
	if err := kept.Note(noteMembers, &st.changes); err != nil {
		return err
	}
	own, err := roster.Latest(s.hash, s.founder, st.changes.Own)
	if err != nil {
		return err
	}
	st.keys.add(s.founder)
	for i := range st.changes.Own {
		r, err := roster.ParseRenewal(st.changes.Own[i], s.hash)
		if err != nil {
			return err
		}
		st.keys.add(r.Entry)
	}
	return st.use(s, own)
}

// use sets the coordinator's roster entry and finds its private keys.
func (st *state) use(s *Study, own roster.Entry) (err error) {
	st.own = own
	st.who, _, err = s.hub.keys.privateKeys(own)
	return err
}

// readWaiting applies the stored key changes to the state: new keys that wait for the next version
// of the roster, and revocations. A client whose keys were revoked counts as having left.
func (s *Study) readWaiting(st *state) error {
	for name, b := range st.changes.Waiting {
		r, err := roster.ParseRenewal(b, s.hash)
		if err != nil {
			return fmt.Errorf("the new keys of %s in the store: %w", name, err)
		}
		st.keys.add(r.Entry)
		if c := st.clients[name]; c != nil {
			c.pin = r.Entry.Pin
		}
	}
	for name, why := range st.changes.Revoked {
		c := st.clients[name]
		if c == nil {
			return fmt.Errorf("the keys of %s were revoked, but the study has no client of this name", name)
		}
		st.revoke(c, why)
	}
	return nil
}

func (st *state) revoke(c *client, why string) {
	if !c.left {
		c.left, st.gone = true, st.gone+1
	}
	c.revoked, c.reason = true, "its keys were revoked: "+why
}

// keepMembers writes the key changes to the store.
func (b *batch) keepMembers() {
	changes := b.state.changes
	changes.Waiting, changes.Revoked, changes.Made = maps.Clone(changes.Waiting), maps.Clone(changes.Revoked), maps.Clone(changes.Made)
	b.write(func(kept store.Study) error {
		return errors.Join(kept.Changes(), kept.PutNote(noteMembers, changes))
	})
	b.state.edition++
	b.shows = true
}

// Renew implements [transport.Coordinator]. The caller needs no valid certificate, because a
// client's certificate may have expired while it was away.
func (s *Study) Renew(ctx context.Context, peer channel.Party, r transport.RenewRequest) (out transport.Renewed, err error) {
	defer func() { err = s.count("renew", err) }()
	party, err := channel.RequestOf(r.Request)
	if err != nil {
		return out, malformed("the request for a certificate", err)
	}
	switch guest := peer == (channel.Party{}); {
	case !guest && !s.knows(peer), guest && (party.Study != s.hash || party.Role != identity.Client):
		return out, errPeer
	case !guest && peer != party:
		return out, malformed("the request for a certificate", channel.ErrRequest)
	}
	err = s.call(ctx, func(b *batch) error {
		c := b.state.clients[party.Name]
		if c == nil {
			return errPeer
		}
		out, err = b.certify(ctx, party, c, r)
		return err
	})
	return out, err
}

// certify replies to a certificate request, and accepts the new keys in it, if any.
func (b *batch) certify(ctx context.Context, party channel.Party, c *client, r transport.RenewRequest) (out transport.Renewed, err error) {
	s, st := b.study, b.state
	entry, err := st.latest(s, party.Name, c)
	if err != nil {
		return out, b.undo(err)
	}
	fresh := false
	if r.Renewal != nil {
		renewal, err := roster.ParseRenewal(r.Renewal, s.hash)
		if err != nil {
			return out, malformed("the new keys", err)
		}
		if fresh = !bytes.Equal(renewal.Entry.Bytes(), entry.Bytes()); fresh {
			if err := b.renewable(party.Name, c, renewal); err != nil {
				return out, err
			}
			entry = renewal.Entry
		}
	}
	authority, err := s.certifier.at(b.now)
	if err != nil {
		return out, b.undo(err)
	}
	out.Certificate, err = authority.Issue(r.Request, party, entry.Key, entry.Pin, b.now, b.now.Add(certified))
	switch {
	case err != nil:
		return transport.Renewed{}, malformed("the request for a certificate", err)
	case c.revoked:
		return transport.Renewed{}, refuse(transport.Denied, "%s", c.reason)
	case c.left:
		return transport.Renewed{}, refuse(transport.Denied, "you left this study")
	}
	signature := authority.Vouch(st.who)
	out.Authority, out.Signature, out.Renewals = authority.Certificate(), signature[:], slices.Clone(st.changes.Own)
	if fresh {
		b.renewed(ctx, party, c, r.Renewal, entry)
	}
	return out, nil
}

// latest returns a client's newest accepted roster entry, even if it is not yet in the roster.
func (st *state) latest(s *Study, name identity.Name, c *client) (roster.Entry, error) {
	waiting := st.changes.Waiting[name]
	if waiting == nil {
		return c.entry, nil
	}
	r, err := roster.ParseRenewal(waiting, s.hash)
	return r.Entry, err
}

// renewable returns a refusal if the coordinator cannot accept a client's new keys, for example
// because other new keys are waiting or because one of them was used before.
func (b *batch) renewable(name identity.Name, c *client, r roster.Renewal) error {
	st := b.state
	switch {
	case st.over():
		return refuse(transport.Ended, "%s", st.ending())
	case st.changes.Waiting[name] != nil:
		return refuse(transport.OutOfPlace, "earlier new keys of this client are waiting for the next version of the roster: if you did not make them, tell the coordinator's people to revoke your keys")
	case st.changes.Made[name] >= maxRenewals:
		return refuse(transport.OutOfPlace, "a client can renew its keys at most %d times in a study", maxRenewals)
	}
	if err := r.Check(b.study.hash, c.entry); err != nil {
		return refuse(transport.Denied, "%v", err)
	}
	own := st.keys.keysIn(c.entry)
	for _, key := range st.keys.keysIn(r.Entry) {
		if st.keys[key] && !slices.Contains(own, key) {
			return refuse(transport.Denied, "the new keys include a key that was used before: make new ones")
		}
	}
	return nil
}

// renewed records the new keys of a client.
func (b *batch) renewed(ctx context.Context, party channel.Party, c *client, renewal []byte, entry roster.Entry) {
	s, st, name := b.study, b.state, party.Name
	st.changes.Made[name]++
	st.keys.add(entry)
	c.pin = entry.Pin
	if st.begun() {
		st.changes.Waiting[name] = bytes.Clone(renewal)
	} else {
		b.replace(name, c, entry)
	}
	b.keepMembers()
	b.then(func() {
		s.log.Info("a client has new keys", "client", name, "key", entry.Key.Fingerprint().Short())
		s.auditMember(ctx, audit.Keys, name, slog.String("fingerprint", entry.Key.Fingerprint().String()))
		s.drop(party)
	})
}

// replace sets a client's roster entry. If the client changes its identity before the study begins,
// it must consent again, because its consent was signed with the old identity.
func (b *batch) replace(name identity.Name, c *client, entry roster.Entry) {
	again := c.entry.Key != entry.Key && !b.state.begun()
	c.former, c.entry, c.entryBytes = c.entry.Key.Fingerprint(), entry, entry.Bytes()
	b.write(func(kept store.Study) error { return kept.Put(store.Entry, string(name), entry.Bytes()) })
	if again {
		b.consentAgain(name, c)
	}
}

// consentAgain deletes a client's consent. The client sends a new one when it connects.
func (b *batch) consentAgain(name identity.Name, c *client) {
	c.approved = false
	b.write(func(kept store.Study) error { return kept.Delete(store.Approval, string(name)) })
}

// Rotate makes new keys for the coordinator in a study: the identity, the TLS key, the key that
// decrypts answers, and the authority's key. If the study has begun, they take effect with the next
// version of the roster. Otherwise they take effect at once, and the clients must consent again.
func (s *Study) Rotate(ctx context.Context) error {
	return s.call(ctx, func(b *batch) error {
		st := b.state
		switch {
		case st.over():
			return fmt.Errorf("study %s is over already", s.Name())
		case st.changes.Waiting[s.name()] != nil:
			return fmt.Errorf("study %s already has new keys: they become valid when the open rounds are over", s.Name())
		}
		if err := b.rotate(); err != nil {
			return b.undo(err)
		}
		return nil
	})
}

func (b *batch) rotate() error {
	s, st := b.study, b.state
	who, key, err := s.hub.keys.renew()
	if err != nil {
		return err
	}
	sealing, err := next(s.hub.files, s.hub.files.sealing(s.hash), seal.Create)
	if err != nil {
		return err
	}
	defer sealing.Wipe()
	authority, err := next(s.hub.files, s.hub.files.authority(s.hash), func(l *keyfile.Lock, path string) (*channel.Authority, error) {
		return channel.CreateAuthority(l, path, s.hash, b.now, b.now.Add(defaultValid))
	})
	if err != nil {
		return err
	}
	entry, err := roster.NewEntry(who, s.hash, s.name(), identity.Coordinator, key.Pin(), sealing.Recipient())
	if err != nil {
		return err
	}
	renewal := roster.Renew(st.who, s.hash, st.own, entry).Bytes()
	st.keys.add(entry)
	if st.begun() {
		st.changes.Waiting[s.name()] = renewal
	} else {
		if err := b.own(renewal, entry); err != nil {
			return err
		}
		for name, c := range st.clients {
			if !c.left {
				b.consentAgain(name, c)
				// the client consents again when it reconnects
				b.then(func() { s.drop(channel.Party{Study: s.hash, Role: identity.Client, Name: name}) })
			}
		}
	}
	b.keepMembers()
	b.then(func() {
		s.certifier.use(authority)
		s.log.Info("the coordinator has new keys", "key", entry.Key.Fingerprint().Short())
	})
	return nil
}

// own makes a new roster entry for the coordinator take effect.
func (b *batch) own(renewal []byte, entry roster.Entry) error {
	b.state.changes.Own = append(slices.Clone(b.state.changes.Own), renewal)
	return b.state.use(b.study, entry)
}

// Revoke makes a client's keys invalid because they were stolen or lost. From then on, the
// coordinator rejects connections and messages with these keys. If the study has begun, the client
// counts as missing, and the next version of the roster gives the reason. Otherwise Revoke removes
// the client, which can then be invited again.
func (s *Study) Revoke(ctx context.Context, name identity.Name, why string) error {
	return s.call(ctx, func(b *batch) error {
		st := b.state
		c := st.clients[name]
		switch _, err := transcript.Reason(why); {
		case err != nil:
			return err
		case st.over():
			return fmt.Errorf("study %s is over already", s.Name())
		case c == nil || st.begun() && !st.inRoster(name):
			return fmt.Errorf("study %s has no client %s", s.Name(), name)
		case c.revoked:
			return fmt.Errorf("client %s no longer takes part: %s", name, c.reason)
		}
		if st.begun() {
			if !c.left {
				if err := s.excludable(st); err != nil {
					return err
				}
			}
			st.changes.Revoked[name] = why
			delete(st.changes.Waiting, name)
			st.revoke(c, why)
			st.since = b.now
		} else {
			if err := b.remove(name, c); err != nil {
				return b.undo(err)
			}
		}
		b.keepMembers()
		b.then(func() {
			s.log.Warn("the keys of a client were revoked", "client", name, "reason", why)
			s.drop(channel.Party{Study: s.hash, Role: identity.Client, Name: name})
		})
		return nil
	})
}

// remove removes a client from a study that has not begun. It replaces the client's invitation with
// an expired one, so that the study does not begin before the client is invited again.
func (b *batch) remove(name identity.Name, c *client) error {
	s, st := b.study, b.state
	_, expired, err := s.hub.invite(s.hash, st.own, name, s.fixed.Addresses, b.now)
	if err != nil {
		return err
	}
	if c.left {
		st.gone--
	}
	delete(st.clients, name)
	delete(st.changes.Made, name)
	st.tickets = append(slices.DeleteFunc(slices.Clone(st.tickets), func(t invitation.Ticket) bool { return t.Name == name }), expired)
	st.blocked.clients = nil
	b.write(func(kept store.Study) error {
		err := kept.PutTicket(string(name), expired)
		for _, part := range []store.Part{store.Entry, store.Approval, store.Leave, store.Last} {
			err = errors.Join(err, kept.Delete(part, string(name)))
		}
		return err
	})
	return nil
}

// due returns the new and the revoked keys that go into the next version of the roster.
func (st *state) due(s *Study) (roster.Change, error) {
	var change roster.Change
	for _, name := range slices.Sorted(maps.Keys(st.changes.Waiting)) {
		r, err := roster.ParseRenewal(st.changes.Waiting[name], s.hash)
		if err != nil {
			return change, err
		}
		change.Renewed = append(change.Renewed, r)
	}
	for _, name := range slices.Sorted(maps.Keys(st.changes.Revoked)) {
		if st.chain.Members().Valid(name) {
			change.Revoked = append(change.Revoked, roster.Revocation{Name: name, Reason: st.changes.Revoked[name]})
		}
	}
	return change, nil
}

// version signs the next version of the roster if there are new or revoked keys. If a plan is still
// open, it returns wait = true instead, and the study must not send further plans. With secure
// aggregation, the clients must then exchange new keys.
func (b *batch) version() (wait bool, err error) {
	s, st := b.study, b.state
	change, err := st.due(s)
	if err != nil || len(change.Renewed)+len(change.Revoked) == 0 {
		return false, err
	}
	if len(st.open) > 0 {
		return true, nil
	}
	envelope, text, err := st.chain.Change(st.who, change, st.server.Model())
	if err != nil {
		return false, err
	}
	chain, e, err := st.chain.Follow(envelope, text)
	if err != nil {
		return false, err
	}
	body, err := s.hub.store.Prepare(s.hash, bytesOf(text))
	if err != nil {
		return false, err
	}
	b.append(chain, e, envelope, body)
	for _, r := range change.Renewed {
		if r.Entry.Role == identity.Client {
			b.replace(r.Entry.Name, st.clients[r.Entry.Name], r.Entry)
		} else if err := b.own(r.Bytes(), r.Entry); err != nil {
			return false, err
		} else if err := b.reopen(); err != nil {
			return false, err
		}
	}
	if len(change.Revoked) > 0 {
		st.server.Resume()
	}
	clear(st.changes.Waiting)
	st.changes.Versions = append(slices.Clone(st.changes.Versions), e.Number)
	b.keepMembers()
	st.since, b.moved = b.now, true
	b.then(func() {
		s.log.Info("the roster has a new version", "version", chain.Members().Version, "new keys", len(change.Renewed), "revoked", len(change.Revoked))
		s.audit(audit.Roster, slog.LevelInfo, slog.Uint64("version", chain.Members().Version))
	})
	return false, b.pairAgain()
}

// reopen loads the key that decrypts answers according to the coordinator's new roster entry. Once
// the transaction is on disk, it destroys the previous key.
func (b *batch) reopen() error {
	s, st := b.study, b.state
	path, key, err := s.hub.files.sealingOf(s.hash, st.own)
	if err != nil {
		return err
	}
	size := 0
	if !s.secure() {
		size = st.server.MaxRelease()
	}
	b.then(func() {
		if s.secure() {
			key.Wipe()
		} else {
			s.opener.use(key, size)
		}
		if err := s.hub.files.destroySealing(s.hash, path); err != nil {
			s.log.Error("cannot destroy the previous key that opened answers: remove the file", "error", err)
		}
	})
	return nil
}

// pairAgain makes the clients exchange keys under the present roster, in a study with secure
// aggregation.
func (b *batch) pairAgain() error {
	s, st := b.study, b.state
	before := st.secure
	if before == nil {
		return nil
	}
	after, err := s.newSecure(st.chain, st.server)
	if err != nil {
		return err
	}
	after.leftOut = before.leftOut
	st.secure = after
	b.write(func(kept store.Study) error { return errors.Join(kept.CloseAsk(0), kept.DropAnswers(0)) })
	b.then(before.keying.discard(s))
	return nil
}
