package transport

import (
	"bytes"
	"context"
	"errors"
	"io"

	"fedpvi/transport/internal/wirepb"
)

// Pieces sends the bytes that are requested, starting at the requested offset. They are a release,
// or the parts of other clients' messages that are meant for the caller.
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
	return sendBody(stream, c, body, m.GetOffset(), nil, pieceOfMany)
}

// secureSince is the first protocol version that has the methods Pieces and Confirm.
const secureSince = 2

// needs returns a refusal if the agreed protocol version is below version.
func (c *Client) needs(version uint32) error {
	if own := c.version.Load(); own < version {
		return refuse(Version, "the coordinator speaks protocol version %d, and secure aggregation needs version %d: the coordinator must be updated", own, version)
	}
	return nil
}

// pieceOfMany is the field number of the piece in a PiecesResponse.
const pieceOfMany = 1

// Confirm passes a client's confirmation of a cut to the coordinator. If there is no envelope, it
// is a complaint instead.
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

// Columns returns this client's columns of the deals in the cut of plan ask, in the order of the
// cut. Together they have size bytes.
func (c *Client) Columns(ctx context.Context, ask uint64, size int64) ([]byte, error) {
	return c.gather(ctx, wirepb.PiecesRequest_builder{Ask: ask}.Build(), size)
}

// Release writes the release in an answer to plan ask to w as its pieces arrive. It has the given
// hash and size. Release does not check the hash.
func (c *Client) Release(ctx context.Context, ask uint64, hash Hash, size int64, w io.Writer) error {
	return c.pieces(ctx, wirepb.PiecesRequest_builder{Ask: ask, Release: hash[:]}.Build(), size, w)
}

// PairKeys returns the keys that other clients have sent for this one. The clients are given by
// their places in the roster, from 1, and the keys are in the same order. Together they have size
// bytes.
func (c *Client) PairKeys(ctx context.Context, clients []int, size int64) ([]byte, error) {
	places := make([]uint32, len(clients))
	for i, place := range clients {
		places[i] = uint32(place)
	}
	return c.gather(ctx, wirepb.PiecesRequest_builder{KeysOf: places}.Build(), size)
}

// Confirm sends this client's signed confirmation of a plan's cut.
func (c *Client) Confirm(ctx context.Context, envelope []byte) error {
	return c.confirm(ctx, wirepb.ConfirmRequest_builder{Envelope: envelope}.Build())
}

// Complain reports that this client cannot decrypt its column of another client's deal, and
// therefore does not confirm the cut of plan ask. place is the other client's place in the roster,
// from 1.
func (c *Client) Complain(ctx context.Context, ask uint64, place int) error {
	return c.confirm(ctx, wirepb.ConfirmRequest_builder{Ask: ask, Unopened: uint32(place)}.Build())
}

func (c *Client) confirm(ctx context.Context, m *wirepb.ConfirmRequest) error {
	if err := c.needs(secureSince); err != nil {
		return err
	}
	_, err := invoke(ctx, c, "Confirm", c.rpc.Confirm, m)
	return err
}

func (c *Client) gather(ctx context.Context, m *wirepb.PiecesRequest, size int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, size))
	if err := c.pieces(ctx, m, size, b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// pieces writes the size bytes that m requests to w as they arrive. If the connection fails, it
// continues with another call.
func (c *Client) pieces(ctx context.Context, m *wirepb.PiecesRequest, size int64, w io.Writer) error {
	if err := c.needs(secureSince); err != nil {
		return err
	}
	have := int64(0)
	return c.try(ctx, "Pieces", func(e *effort) error {
		m.SetOffset(uint64(have))
		return c.receivePieces(e, m, &have, size, w)
	})
}

// receivePieces receives pieces in one call and writes them to w until size bytes are written.
// *have counts the bytes that all calls have written.
func (c *Client) receivePieces(e *effort, m *wirepb.PiecesRequest, have *int64, size int64, w io.Writer) error {
	ctx, cancel := context.WithCancel(c.inVersion(e.ctx))
	defer cancel()
	stream, err := c.rpc.Pieces(ctx, m)
	if err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		n := int64(len(m.GetPiece()))
		switch {
		case errors.Is(err, io.EOF) && *have < size:
			return c.breach(refuse(Malformed, "it sent %d bytes of other clients' messages instead of %d", *have, size))
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case n == 0 || n > size-*have:
			return c.breach(refuse(TooLarge, "it sent more than the %d bytes of other clients' messages", size))
		}
		e.moved()
		if _, err := w.Write(m.GetPiece()); err != nil {
			return err
		}
		*have += n
	}
}
