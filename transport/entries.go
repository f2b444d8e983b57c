package transport

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"fedpvi/transport/internal/wirepb"
)

type followStream interface {
	Send(*wirepb.FollowResponse) error
	Context() context.Context
}

// Follow sends an entry, and those after it if the caller stays.
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
		if err := sendEntry(stream, c.watch, item, number, offset); err != nil {
			return err
		}
		if !m.GetStay() {
			return nil
		}
		offset = 0
	}
}

var errNothingYet = errors.New("the entry is not there yet")

// await gets an entry from the coordinator. While the study has nothing to say, nothing
// has to move.
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

// sendEntry sends what is left of an entry from an offset on, piece by piece: no copy of
// the body is made.
func sendEntry(stream followStream, watch *watch, item Item, number, offset uint64) error {
	if offset > uint64(len(item.Body)) {
		return refuse(OutOfPlace, "entry %d has %d bytes: there is no byte %d", number, len(item.Body), offset)
	}
	sum := sha256.Sum256(item.Body)
	start := wirepb.FollowResponse_Start_builder{
		Number: number, Envelope: item.Envelope, Size: uint64(len(item.Body)), Sha256: sum[:], Offset: offset,
	}.Build()
	rest := item.Body[offset:]
	for start != nil || len(rest) > 0 {
		n := min(len(rest), max(entryMessage-len(start.GetEnvelope()), 1))
		message := wirepb.FollowResponse_builder{Start: start, Piece: rest[:n]}.Build()
		if err := stream.Send(message); err != nil {
			return err
		}
		watch.moved()
		start, rest = nil, rest[n:]
	}
	return nil
}
