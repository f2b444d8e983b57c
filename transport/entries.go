package transport

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"fedpvi/transport/internal/wirepb"
)

// Follow sends the entry that is requested. If Stay is set in the request, it also sends all later
// ones.
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

// await waits for an entry. If m.Stay is not set, it waits for at most the time in the request, or
// the server's limit if that is shorter, and then returns errNothingYet.
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

// A frame is an encoded FollowResponse in two parts. piece is part of the entry's body and is not
// copied. head has all bytes before it.
type frame struct {
	head  []byte
	piece mem.Buffer
}

// sendEntry sends an entry in pieces, starting at the given offset in its body. If brief is set and
// clients can compute the body, it sends only the envelope.
func sendEntry(stream grpc.ServerStream, c *call, item Item, number, offset uint64, brief bool) error {
	body := item.Stored
	if body == nil {
		body = c.study.hashes.hashed(item.Body)
	}
	size, sum := body.Size(), body.Hash()
	if offset > size {
		return refuse(OutOfPlace, "entry %d has %d bytes: there is no byte %d", number, size, offset)
	}
	brief = brief && offset == 0 && item.Derived
	head, err := proto.Marshal(wirepb.FollowResponse_builder{Start: wirepb.FollowResponse_Start_builder{
		Number: number, Envelope: item.Envelope, Size: size, Sha256: sum[:], Offset: offset, Brief: brief,
	}.Build()}.Build())
	if err != nil {
		return err
	}
	if brief || offset == size {
		return stream.SendMsg(frame{head, mem.SliceBuffer(nil)})
	}
	return sendBody(stream, c, body, offset, head, pieceField)
}

// sendBody sends a body in pieces, starting at the given offset. Each piece is in the field with
// the given number. The first message begins with head.
func sendBody(stream grpc.ServerStream, c *call, body Pieces, offset uint64, head []byte, field protowire.Number) error {
	for size := body.Size(); offset < size; head = nil {
		n := int(min(size-offset, uint64(max(entryMessage-len(head), 1))))
		piece, err := pieceOf(body, offset, n)
		if err != nil {
			return err
		}
		head = protowire.AppendVarint(protowire.AppendTag(head, field, protowire.BytesType), uint64(n))
		if err := stream.SendMsg(frame{head, piece}); err != nil {
			return err
		}
		c.watch.moved()
		offset += uint64(n)
	}
	return nil
}

// pieceField is the field number of the piece in a FollowResponse.
const pieceField = 2
