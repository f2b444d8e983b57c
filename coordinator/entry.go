package coordinator

import (
	"context"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/transport"
)

// Entry implements [transport.Coordinator]. If the entry is the next one, it waits for it. It
// refuses later numbers.
func (s *Study) Entry(ctx context.Context, peer channel.Party, number uint64) (item transport.Item, err error) {
	defer func() { err = s.count("entry", err) }()
	if !s.knows(peer) {
		return item, errPeer
	}
	defer s.presence.begin(peer.Name)()
	for {
		v := s.shown.Load()
		m, known := v.members[peer.Name]
		switch {
		case !known:
			return item, errPeer // the keys of this client were revoked while the call was waiting
		case !m.reads:
			return item, refuse(transport.Denied, "the study has begun without you: only its clients can read the transcript")
		case number == 0 || number > v.entries+1:
			return item, refuse(transport.Unknown, "the transcript has %d entries, and entry %d is not the next", v.entries, number)
		case number <= v.entries:
			item, err := s.item(number)
			if err == nil && v.over && number == v.entries {
				s.aware.Store(peer.Name, true)
			}
			return item, err
		case v.over:
			return item, refuse(transport.Ended, "%s", v.ending)
		}
		select {
		case <-v.changed:
		case <-ctx.Done():
			return item, ctx.Err()
		case <-s.stopped:
			return item, errStopped
		}
	}
}

// Unaware returns the clients that have called recently but have not received the last entry of the
// transcript. It is meant for studies that are over.
func (s *Study) Unaware() []identity.Name {
	v := s.shown.Load()
	var names []identity.Name
	for name, m := range v.members {
		if _, aware := s.aware.Load(name); v.entries > 0 && m.reads && !aware && s.presence.present(name) {
			names = append(names, name)
		}
	}
	return names
}
