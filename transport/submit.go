package transport

import (
	"context"
	"errors"
	"io"

	"fedpvi/transport/internal/wirepb"
)

// Submit sends the bytes of a release that the coordinator does not have yet. It returns nil once
// the release is durable on the coordinator. A release may be submitted again. The caller must not
// change the item during the call. Concurrent calls send their releases one after the other.
func (c *Client) Submit(ctx context.Context, item Item) error {
	select {
	case c.sender <- struct{}{}:
		defer func() { <-c.sender }()
	case <-ctx.Done():
		return c.gaveUp(ctx)
	}
	have := int64(-1)
	return c.try(ctx, "Submit", func(e *effort) error { return c.send(e, item, &have) })
}

// send makes one attempt to send a release. *have is how many bytes of the body the coordinator
// has, or −1 if this is unknown. send updates it, and records progress when it grows.
func (c *Client) send(e *effort, item Item, have *int64) error {
	ctx, cancel := context.WithCancel(c.inVersion(e.ctx))
	defer cancel()
	stream, err := c.rpc.Submit(ctx)
	if err != nil {
		return err
	}
	size := int64(len(item.Body))
	offer := wirepb.SubmitRequest_Offer_builder{Envelope: item.Envelope, Size: uint64(size), Body: promptly(item.Body, *have)}.Build()
	if err := stream.Send(wirepb.SubmitRequest_builder{Offer: offer}.Build()); err != nil {
		return c.breach(ended(stream, err))
	}
	got, err := heard(stream, size)
	if err != nil {
		return c.breach(err)
	}
	if got > *have {
		*have = got
		e.moved()
	}
	if got == size {
		return nil
	}
	if err := sendPieces(e, stream, item.Body, got); err != nil {
		return c.breach(err)
	}
	if got, err = heard(stream, size); err == nil && got != size {
		err = refuse(OutOfPlace, "it accepted only %d of the %d bytes", got, size)
	}
	return c.breach(err)
}

// promptly returns the body if it can be sent with the offer. It returns nil if the body is long or
// if the coordinator may already have part of it. In this case, the coordinator first reports how
// much it has, and the client sends the rest.
func promptly(body []byte, have int64) []byte {
	if have >= 0 || len(body) > sentWhole {
		return nil
	}
	return body
}

func sendPieces(e *effort, stream wirepb.Study_SubmitClient, body []byte, offset int64) error {
	for offset < int64(len(body)) {
		n := min(int64(len(body))-offset, sentPiece)
		piece := wirepb.SubmitRequest_Piece_builder{Offset: uint64(offset), Data: body[offset : offset+n]}.Build()
		if err := stream.Send(wirepb.SubmitRequest_builder{Piece: piece}.Build()); err != nil {
			return ended(stream, err)
		}
		e.sent()
		offset += n
	}
	return nil
}

// heard returns how many bytes of the body the coordinator says it has. This is at most size.
func heard(stream wirepb.Study_SubmitClient, size int64) (int64, error) {
	m, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return 0, refuse(Malformed, "it ended the call without an answer")
	}
	if err != nil {
		return 0, err
	}
	if m.GetHave() > uint64(size) {
		return 0, refuse(Malformed, "it claims to have %d bytes of a release with %d", m.GetHave(), size)
	}
	return int64(m.GetHave()), nil
}

// ended returns the error that ended a stream. If err is io.EOF, the stream itself has the cause,
// and ended receives it.
func ended(stream wirepb.Study_SubmitClient, err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if _, err = stream.Recv(); err == nil || errors.Is(err, io.EOF) {
		return refuse(Malformed, "it ended the call before it had the whole release")
	}
	return err
}
