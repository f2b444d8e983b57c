package transport

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"fedpvi/transport/internal/wirepb"
)

// Pieces sends the caller its parts of other clients' messages, beginning at an offset.
func (s service) Pieces(m *wirepb.PiecesRequest, stream wirepb.Study_PiecesServer) error {
	wanted, err := checkPieces(m)
	if err != nil {
		return err
	}
	c := callOf(stream.Context())
	body, err := c.study.Coordinator.Pieces(stream.Context(), c.peer, wanted)
	if err != nil {
		return err
	}
	if offset := m.GetOffset(); offset > body.Size() {
		return refuse(OutOfPlace, "the pieces have %d bytes: there is no byte %d", body.Size(), offset)
	}
	return sendPiecesOf(stream, c, body, m.GetOffset())
}

// sendPiecesOf sends bytes in messages of the same size as the messages of an entry.
func sendPiecesOf(stream grpc.ServerStream, c *call, body Pieces, offset uint64) error {
	for size := body.Size(); offset < size; {
		n := int(min(size-offset, entryMessage))
		piece, err := pieceOf(body, offset, n)
		if err != nil {
			return err
		}
		head := protowire.AppendVarint(protowire.AppendTag(nil, pieceOfMany, protowire.BytesType), uint64(n))
		if err := stream.SendMsg(frame{head, piece}); err != nil {
			return err
		}
		c.watch.moved()
		offset += uint64(n)
	}
	return nil
}

// secureSince is the first protocol version that has the methods Pieces and Confirm.
const secureSince = 2

// needs returns a refusal if the coordinator speaks only earlier protocol versions.
func (c *Client) needs(version uint32) error {
	if own := c.version.Load(); own < version {
		return refuse(Version, "the coordinator speaks protocol version %d, and secure aggregation needs version %d: the coordinator must be updated", own, version)
	}
	return nil
}

// pieceOfMany is the field number of the piece in a PiecesResponse.
const pieceOfMany = 1

// Confirm accepts a confirmation or a complaint.
func (service) Confirm(ctx context.Context, m *wirepb.ConfirmRequest) (*wirepb.ConfirmResponse, error) {
	c := callOf(ctx)
	none := wirepb.ConfirmResponse_builder{}.Build()
	if len(m.GetEnvelope()) == 0 && m.GetUnopened() > 0 {
		return none, c.study.Coordinator.Complain(ctx, c.peer, m.GetAsk(), int(m.GetUnopened()))
	}
	if err := checkEnvelope(m.GetEnvelope()); err != nil {
		return nil, err
	}
	return none, c.study.Coordinator.Confirm(ctx, c.peer, m.GetEnvelope())
}

// Columns returns this client's parts of the deals in the cut of a plan, in the order of the cut.
// The parts have size bytes in total.
func (c *Client) Columns(ctx context.Context, ask uint64, size int64) ([]byte, error) {
	return c.pieces(ctx, wirepb.PiecesRequest_builder{Ask: ask}.Build(), size)
}

// PairKeys returns this client's parts of the keys of other clients. The argument of contains the
// places of these clients in the roster, and the parts are in the same order. The parts have size
// bytes in total.
func (c *Client) PairKeys(ctx context.Context, of []int, size int64) ([]byte, error) {
	places := make([]uint32, len(of))
	for i, place := range of {
		places[i] = uint32(place)
	}
	return c.pieces(ctx, wirepb.PiecesRequest_builder{KeysOf: places}.Build(), size)
}

// Confirm sends this client's signed confirmation of a cut.
func (c *Client) Confirm(ctx context.Context, envelope []byte) error {
	return c.confirm(ctx, wirepb.ConfirmRequest_builder{Envelope: envelope}.Build())
}

// Complain tells the coordinator that this client cannot open its part of another client's deal,
// and therefore does not confirm the cut of a plan. The argument ask is the number of the plan. The
// argument place is the place of the other client in the roster.
func (c *Client) Complain(ctx context.Context, ask uint64, place int) error {
	return c.confirm(ctx, wirepb.ConfirmRequest_builder{Ask: ask, Unopened: uint32(place)}.Build())
}

func (c *Client) confirm(ctx context.Context, m *wirepb.ConfirmRequest) error {
	if err := c.needs(secureSince); err != nil {
		return err
	}
	return c.short(ctx, "Confirm", func(ctx context.Context) error {
		_, err := c.rpc.Confirm(ctx, m)
		return err
	})
}

// pieces receives bytes, over several calls if the connection fails.
func (c *Client) pieces(ctx context.Context, m *wirepb.PiecesRequest, size int64) ([]byte, error) {
	if err := c.needs(secureSince); err != nil {
		return nil, err
	}
	e := c.begin(ctx, c.timing.patience)
	defer e.end()
	b := make([]byte, 0, size)
	for {
		m.SetOffset(uint64(len(b)))
		err := c.receivePieces(e, m, &b)
		c.observer.Called("Pieces", outcome(err))
		if err == nil {
			return b, nil
		}
		if err := e.failed(err); err != nil {
			return nil, err
		}
	}
}

// receivePieces appends to b until its capacity is reached, in one call.
func (c *Client) receivePieces(e *effort, m *wirepb.PiecesRequest, b *[]byte) error {
	ctx, cancel := context.WithCancel(c.inVersion(e.ctx))
	defer cancel()
	stream, err := c.rpc.Pieces(ctx, m)
	if err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && len(*b) < cap(*b):
			return c.breach(refuse(Malformed, "it sent %d bytes of other clients' messages instead of %d", len(*b), cap(*b)))
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(m.GetPiece()) == 0 || len(m.GetPiece()) > cap(*b)-len(*b):
			return c.breach(refuse(TooLarge, "it sent more than the %d bytes of other clients' messages", cap(*b)))
		}
		e.moved()
		*b = append(*b, m.GetPiece()...)
	}
}
