package transport

import (
	"context"
	"errors"
	"time"

	"fedpvi/transport/internal/wirepb"
)

type followStream interface {
	SendMsg(frame any) error
	Context() context.Context
}

// Follow sends an entry, and the following ones if the caller stays.
func (s service) Follow(m *wirepb.FollowRequest, stream wirepb.Study_FollowServer) error {
	if err := checkFollow(m); err != nil {
		return err
	}
	c := callOf(stream.Context())
	offset := m.GetOffset()
	for number := m.GetNumber(); ; number++ {
		item, err := s.await(stream.Context(), c, number, m)
		if errors.Is(err, errNothingYet) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := sendEntry(stream, c, item, number, offset, m.GetBrief()); err != nil {
			return err
		}
		if !m.GetStay() {
			return nil
		}
		offset = 0
	}
}

var errNothingYet = errors.New("the entry does not exist yet")

// await waits for an entry. It may take any time while the study has no news.
func (s service) await(ctx context.Context, c *call, number uint64, m *wirepb.FollowRequest) (Item, error) {
	c.watch.stop()
	defer c.watch.moved()
	if m.GetStay() {
		return c.study.Coordinator.Entry(ctx, c.peer, number)
	}
	wait := min(time.Duration(m.GetWaitMs())*time.Millisecond, s.server.timing.wait)
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	item, err := c.study.Coordinator.Entry(bounded, c.peer, number)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return Item{}, errNothingYet
	}
	return item, err
}

// sendEntry sends the rest of an entry from an offset, in pieces, or without a body that the client
// can compute.
func sendEntry(stream followStream, c *call, item Item, number, offset uint64, brief bool) error {
	if item.Stored != nil {
		return sendStored(stream, c, item, number, offset, brief)
	}
	a, err := c.study.announced.of(number, item)
	if err != nil {
		return err
	}
	frames, err := a.frames(offset, brief)
	if err != nil {
		return err
	}
	for _, f := range frames {
		if err := stream.SendMsg(f); err != nil {
			return err
		}
		c.watch.moved()
	}
	return nil
}
