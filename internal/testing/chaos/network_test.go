package chaos

import (
	"context"
	"errors"
	"io"
	"time"

	"fedpvi/coordinator"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi/session"
	"fedpvi/transport"
)

// A link is a client's connection to the coordinator during one run of the client's process. Like
// transport.Client, it repeats calls that fail.
type link struct {
	life *life
	peer channel.Party
	lie  map[uint64]transport.Item // false entries that the client received, by number
	seen int                       // number of this client's connections that had been closed when the link opened
}

var (
	errLost   = errors.New("nothing came back")
	errWaited = errors.New("there is no news")
)

const (
	tries    = 4
	longPoll = time.Minute
)

// An address is a running coordinator that a client can call.
type address struct {
	study *coordinator.Study
	life  *life
}

// A request is a call to a coordinator. If the call succeeds and its reply arrives, keep stores the
// result for the client.
type request func(ctx context.Context, to *address) (keep func(), err error)

func nothing() {}

// connect opens the connection. If the connection was closed, connect opens it again.
func (k *link) connect() *link {
	k.life.p.w.mu.Lock()
	defer k.life.p.w.mu.Unlock()
	k.seen = k.life.p.drops
	return k
}

// closed reports whether the coordinator has closed the connection.
func (k *link) closed() bool {
	k.life.p.w.mu.Lock()
	defer k.life.p.w.mu.Unlock()
	return k.seen != k.life.p.drops
}

// call repeats a request until it gets a reply.
func (k *link) call(ctx context.Context, do request) error {
	var err error
	for n := range tries {
		if k.closed() {
			return &transport.Unreachable{Address: hubAddress, Err: errLost}
		}
		if n > 0 {
			rest(ctx, k.upTo(10*time.Second))
		}
		var again bool
		if again, err = k.once(ctx, do); !again {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return &transport.Unreachable{Address: hubAddress, Err: err}
}

// once makes a request one time, under the faults that are due. again reports whether the request
// must be repeated.
func (k *link) once(ctx context.Context, do request) (again bool, err error) {
	w := k.life.p.w
	out, back := k.upTo(w.pace), k.upTo(w.pace)
	trouble := k.trouble()
	rest(ctx, out+trouble[delay].For)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	to := w.serving(k.life.p)
	if _, lost := trouble[cutRequest]; to == nil || lost || k.closed() {
		rest(ctx, time.Second)
		return true, errLost
	}
	keep, err := to.call(ctx, do)
	if f, twice := trouble[repeat]; twice {
		w.later(f.For, func() {
			if to := w.serving(k.life.p); to != nil {
				_, _ = to.call(w.ctx, do) // a duplicate of the call; its result is ignored
			}
		})
	}
	if w.isDead(to.life) {
		return true, errLost
	}
	rest(ctx, back)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if _, lost := trouble[cutAnswer]; lost || w.isApart(k.life.p) {
		return true, errLost
	}
	if err == nil {
		keep()
	}
	return judge(err)
}

// judge decides how a client reacts to the result of a call. If again is true, it must repeat the
// call. Otherwise it gets the error final.
func judge(err error) (again bool, final error) {
	var refused *transport.Refusal
	if errors.As(err, &refused) {
		return refused.Reason == transport.Unavailable, err
	}
	return errors.Is(err, context.Canceled), err
}

// call makes a request to the coordinator at a. If the coordinator is killed during the call, the
// request's context is cancelled.
func (a *address) call(ctx context.Context, do request) (keep func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.life.ctx, cancel)()
	return do(ctx, a)
}

// trouble counts a call of the client and returns the faults that are due at it. If a fault
// requires a false entry, trouble notes this for [link.tamper].
func (k *link) trouble() map[kind]fault {
	p := k.life.p
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.calls++
	found := map[kind]fault{}
	for _, f := range p.w.faults {
		if f.Who == p.index && f.Nth == p.calls && f.Kind >= cutRequest {
			found[f.Kind] = f
			p.w.tell("%s: %s, call %d", p.name, kindNames[f.Kind], p.calls)
			if f.Kind == replay || f.Kind == forge {
				p.lies = append(p.lies, f.Kind)
			}
		}
	}
	return found
}

func (k *link) upTo(most time.Duration) time.Duration {
	k.life.p.w.mu.Lock()
	defer k.life.p.w.mu.Unlock()
	return time.Duration(1 + k.life.p.rng.Int64N(int64(most)))
}

// Join redeems an invitation. A client calls it before it is a member of the study.
func (k *link) Join(ctx context.Context, r transport.JoinRequest) (a transport.Admission, err error) {
	err = k.call(ctx, func(ctx context.Context, to *address) (func(), error) {
		got, err := to.study.Join(ctx, r)
		return func() { a = got }, err
	})
	return a, err
}

// Standing and the following methods implement client.Link.
func (k *link) Standing(ctx context.Context) (s transport.Standing, err error) {
	err = k.call(ctx, func(ctx context.Context, to *address) (func(), error) {
		got, err := to.study.Standing(ctx, k.peer)
		return func() { s = got }, err
	})
	return s, err
}

func (k *link) Approve(ctx context.Context, envelope []byte) error {
	return k.call(ctx, func(ctx context.Context, to *address) (func(), error) {
		err := to.study.Approve(ctx, k.peer, envelope)
		if err == nil {
			k.life.p.w.model.kept(to.life, "an approval", envelope)
		}
		return nothing, err
	})
}

func (k *link) Renew(ctx context.Context, r transport.RenewRequest) (out transport.Renewed, err error) {
	err = k.call(ctx, func(ctx context.Context, to *address) (func(), error) {
		got, err := to.study.Renew(ctx, k.peer, r)
		return func() { out = got }, err
	})
	return out, err
}

// Entry returns an entry. Like the real server, it leaves out a body that the client can compute.
func (k *link) Entry(ctx context.Context, number uint64) (transport.Item, error) {
	item, err := k.Whole(ctx, number)
	if item.Derived && session.Foretells(k.life.p.w.document) {
		item.Body = nil
	}
	return item, err
}

func (k *link) Whole(ctx context.Context, number uint64) (transport.Item, error) {
	w := k.life.p.w
	w.model.asks(k.life, number)
	var item transport.Item
	for {
		err := k.call(ctx, func(ctx context.Context, to *address) (func(), error) {
			ctx, cancel := context.WithTimeout(ctx, longPoll+k.upTo(time.Second))
			defer cancel()
			got, err := to.study.Entry(ctx, k.peer, number)
			if errors.Is(err, context.DeadlineExceeded) {
				return nothing, errWaited
			}
			if got.Stored != nil { // a stored body is read from the disk
				got.Body = make([]byte, got.Stored.Size())
				err = errors.Join(err, got.Stored.Read(got.Body, 0))
				got.Stored = nil
			}
			if err == nil {
				w.model.said(to.life, number, got)
			}
			return func() { item = got }, err
		})
		if !errors.Is(err, errWaited) {
			return k.tamper(number, item), err
		}
	}
}

// tamper replaces a transcript entry by a false one if a fault requires it.
func (k *link) tamper(number uint64, item transport.Item) transport.Item {
	p := k.life.p
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	lies := p.lies
	p.lies = nil
	for _, lie := range lies {
		if other, ok := p.w.model.instead(p.index, lie, number); ok {
			k.life.excuse(kindNames[lie])
			k.lie = map[uint64]transport.Item{number: other}
		}
	}
	if other, lied := k.lie[number]; lied {
		return other // when the client requests the entry again, it gets the same false one
	}
	return item
}

func (k *link) Submit(ctx context.Context, item transport.Item) error {
	w := k.life.p.w
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.model.left(k.life, item)
	return k.call(ctx, func(ctx context.Context, to *address) (func(), error) {
		err := k.send(ctx, to.study, item)
		var refused *transport.Refusal
		switch {
		case err == nil:
			w.model.took(to.life, k.life.p, item)
		case errors.As(err, &refused) && (refused.Reason == transport.OutOfPlace || refused.Reason == transport.Ended):
			w.model.refused(k.life.p, item)
		}
		return nothing, err
	})
}

// PairKeys and the following methods belong to secure sums.
func (k *link) PairKeys(ctx context.Context, dealers []int, _ int64) ([]byte, error) {
	return k.pieces(ctx, transport.Wanted{KeysOf: dealers})
}

func (k *link) Columns(ctx context.Context, ask uint64, _ int64) ([]byte, error) {
	return k.pieces(ctx, transport.Wanted{Ask: ask})
}

func (k *link) Release(ctx context.Context, ask uint64, hash [32]byte, _ int64, w io.Writer) error {
	b, err := k.pieces(ctx, transport.Wanted{Ask: ask, Release: hash})
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

func (k *link) pieces(ctx context.Context, of transport.Wanted) (b []byte, err error) {
	err = k.call(ctx, func(ctx context.Context, to *address) (func(), error) {
		p, err := to.study.Pieces(ctx, k.peer, of)
		if err != nil {
			return nothing, err
		}
		got := make([]byte, p.Size())
		err = p.Read(got, 0)
		return func() { b = got }, err
	})
	return b, err
}

func (k *link) Confirm(ctx context.Context, envelope []byte) error {
	w := k.life.p.w
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.model.left(k.life, transport.Item{Envelope: envelope})
	return k.call(ctx, func(ctx context.Context, to *address) (func(), error) {
		return nothing, to.study.Confirm(ctx, k.peer, envelope)
	})
}

// Complain fails the test if the coordinator accepts a complaint about a deal, because no fault
// changes a deal. A late client may get the keys of a newer roster and complain about a closed
// plan. The coordinator then refuses the complaint.
func (k *link) Complain(ctx context.Context, ask uint64, dealer int) error {
	w := k.life.p.w
	return k.call(ctx, func(ctx context.Context, to *address) (func(), error) {
		err := to.study.Complain(ctx, k.peer, ask, dealer)
		if err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.fail("%s cannot read the deal of place %d for plan %d", k.life.p.name, dealer, ask)
		}
		return nothing, err
	})
}

// send sends an answer, either in pieces or in one with its offer.
func (k *link) send(ctx context.Context, to *coordinator.Study, item transport.Item) error {
	hash, size := transcript.BodyOf(item.Envelope).Hash, int64(len(item.Body))
	var whole []byte
	if k.upTo(2) == 0 {
		whole = item.Body
	}
	have, err := to.Offer(ctx, k.peer, item.Envelope, whole)
	for err == nil && have < size {
		rest(ctx, k.upTo(k.life.p.w.pace/4))
		if ctx.Err() != nil { // the coordinator may not have noticed yet that the call has ended
			return ctx.Err()
		}
		end := min(size, have+512+int64(k.upTo(1500)))
		if err = to.Write(ctx, k.peer, hash, have, item.Body[have:end]); err == nil {
			have = end
		}
	}
	return err
}

func (k *link) Close() error { return nil }

func (w *world) party(p *process) channel.Party {
	return channel.Party{Study: w.hash, Role: identity.Client, Name: identity.Name(p.name)}
}
