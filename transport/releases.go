package transport

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"fedpvi/transport/internal/wirepb"
)

// Submit takes a release piece by piece: never more than one of them is held.
func (service) Submit(stream wirepb.Study_SubmitServer) error {
	c := callOf(stream.Context())
	first, err := receive(stream, c)
	if err != nil {
		return err
	}
	size, err := checkOffer(first, c.study.MaxRelease)
	if err != nil {
		return err
	}
	envelope := first.GetOffer().GetEnvelope()
	have, err := c.study.Coordinator.Offer(stream.Context(), c.peer, envelope)
	if err != nil {
		return err
	}
	if have < 0 || have > size {
		return fmt.Errorf("the coordinator says that it has %d bytes of a release of %d", have, size)
	}
	if err := say(stream, have); err != nil || have == size {
		return err
	}
	return takePieces(stream, c, sha256.Sum256(envelope), have, size)
}

func takePieces(stream wirepb.Study_SubmitServer, c *call, envelope Hash, have, size int64) error {
	for have < size {
		m, err := receive(stream, c)
		if err != nil {
			return err
		}
		piece, err := checkPiece(m, have, size)
		if err != nil {
			return err
		}
		if err := c.study.Coordinator.Write(stream.Context(), c.peer, envelope, have, piece); err != nil {
			return err
		}
		have += int64(len(piece))
	}
	return say(stream, have)
}

func receive(stream wirepb.Study_SubmitServer, c *call) (*wirepb.SubmitRequest, error) {
	m, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return nil, refuse(Malformed, "the release ends too early")
	}
	if err != nil {
		return nil, unread(err)
	}
	c.watch.moved()
	return m, nil
}

func say(stream wirepb.Study_SubmitServer, have int64) error {
	return stream.Send(wirepb.SubmitResponse_builder{Have: uint64(have)}.Build())
}
