package transport

import (
	"context"
	"errors"
	"io"
	"time"

	"fedpvi/transport/internal/wirepb"
)

// Entry returns the transcript entry with the given number, from 1. It waits until the entry
// exists, ctx is done, or the client gives up. Successive entries come over one call, which stays
// open. Concurrent calls of Entry wait for each other. If Config.Poll is set, the client instead
// requests each entry at intervals.
func (c *Client) Entry(ctx context.Context, number uint64) (Item, error) {
	if number == 0 {
		return Item{}, refuse(Malformed, "entries are numbered from 1")
	}
	if c.config.Poll > 0 {
		return c.poll(ctx, number, c.config.Brief)
	}
	var f *follower
	select {
	case f = <-c.reader:
	case <-ctx.Done():
		return Item{}, ctx.Err()
	}
	f = c.followerAt(f, number)
	defer func() { c.reader <- f }()
	select {
	case item := <-f.items:
		f.next++
		return item, nil
	case <-f.done:
		err := f.err
		f = nil
		return Item{}, err
	case <-ctx.Done():
		return Item{}, c.gaveUp(ctx)
	}
}

// Whole returns an existing entry with its body, even if Entry would leave the body out.
func (c *Client) Whole(ctx context.Context, number uint64) (Item, error) {
	a := newAssembly(number, c.config.MaxEntry, false)
	var item Item
	err := c.try(ctx, "Follow", func(e *effort) (err error) {
		if item, err = c.ask(e, a); errors.Is(err, io.EOF) {
			err = c.breach(refuse(OutOfPlace, "entry %d is gone", number))
		}
		return err
	})
	return item, err
}

// followerAt returns a follower whose next entry has the given number. This is f if its next entry
// is the right one and it has not ended. Otherwise followerAt replaces f by a new follower.
func (c *Client) followerAt(f *follower, number uint64) *follower {
	if f != nil && f.next == number && f.ended() == nil {
		return f
	}
	if f != nil {
		f.stop()
	}
	f = &follower{next: number, items: make(chan Item), done: make(chan struct{})}
	var ctx context.Context
	ctx, f.cancel = context.WithCancel(c.life)
	go f.run(ctx, c)
	return f
}

// A follower keeps a call open and receives successive entries over it.
type follower struct {
	next   uint64
	items  chan Item
	cancel context.CancelFunc
	done   chan struct{}
	err    error // why the follower ended; valid once done is closed
}

func (f *follower) stop() {
	f.cancel()
	<-f.done
}

// ended returns the reason why the follower has ended, or nil if it has not.
func (f *follower) ended() error {
	select {
	case <-f.done:
		return f.err
	default:
		return nil
	}
}

func (f *follower) run(ctx context.Context, c *Client) {
	defer close(f.done)
	defer f.cancel()
	e := c.begin(ctx, 0)
	defer e.end()
	a := newAssembly(f.next, c.config.MaxEntry, c.config.Brief)
	for {
		err := f.receive(e, &a)
		// At the end of a study, the coordinator ends the call and the client stops following, in
		// either order. The metrics must count both as the same outcome.
		result := outcome(err)
		if ctx.Err() != nil {
			result = string(Ended)
		}
		c.observer.Called("Follow", result)
		if err := e.failed(err); err != nil {
			f.err = err
			return
		}
	}
}

// receive passes the entries of one call to f.items. *a is the next entry, of which a part may have
// arrived. The next call can continue it.
func (f *follower) receive(e *effort, a **assembly) error {
	c := e.client
	ctx, cancel := context.WithCancel(c.inVersion(e.ctx))
	defer cancel()
	request := wirepb.FollowRequest_builder{Number: (*a).number, Offset: (*a).have(), Stay: true, Brief: (*a).brief}.Build()
	stream, err := c.rpc.Follow(ctx, request)
	if err != nil {
		return err
	}
	(*a).reconnect()
	for {
		item, err := c.assemble(stream, e, *a)
		if err != nil {
			return err
		}
		select {
		case f.items <- item:
		case <-e.ctx.Done():
			return e.ctx.Err()
		}
		*a = newAssembly((*a).number+1, c.config.MaxEntry, c.config.Brief)
	}
}

// assemble receives messages until an entry is complete, and returns it.
func (c *Client) assemble(stream wirepb.Study_FollowClient, e *effort, a *assembly) (Item, error) {
	for {
		m, err := stream.Recv()
		if err != nil {
			return Item{}, err
		}
		e.moved()
		complete, err := a.take(m)
		if err != nil {
			return Item{}, c.breach(err)
		}
		if complete {
			return a.item, nil
		}
	}
}

// poll requests an entry at intervals until it exists. The intervals are usually so long that gRPC
// closes the idle connection in between.
func (c *Client) poll(ctx context.Context, number uint64, brief bool) (Item, error) {
	e := c.begin(ctx, 0)
	defer e.end()
	a := newAssembly(number, c.config.MaxEntry, brief)
	for {
		item, err := c.ask(e, a)
		c.observer.Called("Follow", outcome(err))
		switch {
		case err == nil:
			return item, nil
		case errors.Is(err, io.EOF):
			if rest(e.ctx, c.config.Poll) != nil {
				return Item{}, c.gaveUp(e.ctx)
			}
		default:
			if err := e.failed(err); err != nil {
				return Item{}, err
			}
		}
	}
}

// ask requests an entry once. If it does not exist yet, ask returns io.EOF.
func (c *Client) ask(e *effort, a *assembly) (Item, error) {
	ctx, cancel := context.WithCancel(c.inVersion(e.ctx))
	defer cancel()
	request := wirepb.FollowRequest_builder{
		Number: a.number, Offset: a.have(), WaitMs: uint32(c.timing.first / time.Millisecond), Brief: a.brief,
	}.Build()
	stream, err := c.rpc.Follow(ctx, request)
	if err != nil {
		return Item{}, err
	}
	a.reconnect()
	return c.assemble(stream, e, a)
}
