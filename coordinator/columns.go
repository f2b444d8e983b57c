package coordinator

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/sums"
	"fedpvi/transport"
)

// columns gives access to the deals in a plan's cut. A client fetches its own columns of all these
// deals as one byte sequence. The deals do not change before the plan has an outcome.
type columns struct {
	study      *Study
	federation *sums.Federation
	ask        uint64
	cut        []sums.Dealt

	once sync.Once
	// deals, keyed by the dealer's place in the roster; nil if they are not kept in memory
	bodies map[int][]byte
	err    error
}

// maxColumns limits the total size, in bytes, of the deals that are kept in memory while clients
// fetch their columns.
const maxColumns = 256 << 20

// load reads the deals into memory once, unless they are in files or too large. Reading many small
// columns from the store for each client would be slow.
func (c *columns) load() error {
	c.once.Do(func() {
		size := c.federation.DealSize()
		if c.study.hub.store.IsLong(int64(size)) || size*len(c.cut) > maxColumns {
			return
		}
		bodies := make(map[int][]byte, len(c.cut))
		c.err = c.study.look(func(kept store.Study) error {
			for _, d := range c.cut {
				bodies[d.Place] = make([]byte, size)
				if err := kept.ReadAnswer(c.key(d.Place), bodies[d.Place], 0); err != nil {
					return err
				}
			}
			return nil
		})
		c.bodies = bodies
	})
	return c.err
}

func (c *columns) key(dealer int) store.ReleaseKey {
	return store.ReleaseKey{Ask: c.ask, Client: string(c.federation.Name(dealer))}
}

// A part is a range of bytes of a stored message.
type part struct {
	key    store.ReleaseKey
	at     int64
	body   []byte // the whole message, if it is in memory
	offset uint64 // position in the byte sequence that the client receives
	size   uint64
}

// pieces joins parts of several messages into one byte sequence for a client.
type pieces struct {
	study *Study
	// reports whether the study no longer needs the messages and may have removed them from the
	// store
	over  func(*view) bool
	parts []part
	size  uint64
}

func (p *pieces) append(key store.ReleaseKey, at, size int, body []byte) {
	if size == 0 {
		return
	}
	p.parts = append(p.parts, part{key, int64(at), body, p.size, uint64(size)})
	p.size += uint64(size)
}

// Size implements [transport.Pieces].
func (p *pieces) Size() uint64 { return p.size }

// Read implements [transport.Pieces].
func (p *pieces) Read(b []byte, from int64) error {
	i, found := slices.BinarySearchFunc(p.parts, uint64(from), func(x part, at uint64) int { return cmp.Compare(x.offset, at) })
	if !found {
		i--
	}
	if i < len(p.parts) && p.parts[i].body != nil {
		return p.read(b, uint64(from), i, nil)
	}
	err := p.study.look(func(kept store.Study) error { return p.read(b, uint64(from), i, &kept) })
	return p.study.unlessOver(err, p.over)
}

// unlessOver returns err, an error from reading messages. If the messages were removed because the
// plan or the study is over, it returns a refusal instead.
func (s *Study) unlessOver(err error, over func(*view) bool) error {
	if err == nil {
		return nil
	}
	// Wait until the view shows the transaction that removed the messages.
	_ = s.call(context.Background(), func(*batch) error { return nil })
	if over(s.shown.Load()) {
		return refuse(transport.OutOfPlace, "the plan or the study ended while messages of other clients were fetched")
	}
	return err
}

// read fills b, starting at the position from of the sequence, which is in part i. kept is the
// study in the store, or nil if all parts are in memory.
func (p *pieces) read(b []byte, from uint64, i int, kept *store.Study) error {
	for ; len(b) > 0; i++ {
		x := p.parts[i]
		inside := from - x.offset
		n := min(uint64(len(b)), x.size-inside)
		at := x.at + int64(inside)
		if x.body != nil {
			copy(b[:n], x.body[at:])
		} else if err := kept.ReadAnswer(x.key, b[:n], at); err != nil {
			return err
		}
		b, from = b[n:], from+n
	}
	return nil
}

// Pieces implements [transport.Coordinator].
func (s *Study) Pieces(_ context.Context, peer channel.Party, of transport.Wanted) (p transport.Pieces, err error) {
	defer func() { err = s.count("pieces", err) }()
	if !s.knows(peer) {
		return nil, errPeer
	}
	defer s.presence.begin(peer.Name)()
	v := s.shown.Load()
	if !v.members[peer.Name].reads {
		return nil, refuse(transport.Denied, "the study has begun without you: only its clients get the messages of other clients")
	}
	if of.Release != (Hash{}) {
		return s.published(of.Ask, of.Release)
	}
	if v.federation == nil {
		return nil, refuse(transport.OutOfPlace, "the study has no messages of other clients for this client")
	}
	if len(of.KeysOf) > 0 {
		return s.keysOf(v.federation, peer.Name, of.KeysOf)
	}
	c := v.columns
	if c == nil || c.ask != of.Ask {
		return nil, refuse(transport.OutOfPlace, "plan %d has no cut: it is over, or still waits for deals", of.Ask)
	}
	over := func(v *view) bool { return v.columns != c }
	if err := c.load(); err != nil {
		return nil, s.unlessOver(err, over)
	}
	out, holder := &pieces{study: s, over: over}, v.federation.Place(peer.Name)
	for _, d := range c.cut {
		at, size := v.federation.Column(d.Place, holder)
		out.append(c.key(d.Place), at, size, c.bodies[d.Place])
	}
	return out, nil
}

// keysOf gives access to the keys that the clients at the given places have sent for the client
// name.
func (s *Study) keysOf(f *sums.Federation, name identity.Name, places []int) (transport.Pieces, error) {
	out, holder := &pieces{study: s, over: func(v *view) bool { return v.over }}, f.Place(name)
	err := s.look(func(kept store.Study) error {
		for _, place := range places {
			if place == holder || place > f.Clients() {
				return refuse(transport.Unknown, "there are no keys from place %d for this client", place)
			}
			key := store.ReleaseKey{Client: string(f.Name(place))}
			if kept.Release(key) == nil {
				return refuse(transport.Unavailable, "client %s has not sent its keys", f.Name(place))
			}
			at, size := f.Keys(place, holder)
			out.append(key, at, size, nil)
		}
		return nil
	})
	return out, err
}
