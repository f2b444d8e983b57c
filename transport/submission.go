package transport

import (
	"errors"
	"slices"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// A submission is a SubmitRequest that was received. It is decoded without protobuf, which would
// copy each piece once more, and without gRPC's buffers, whose sizes are powers of two and just too
// small for a message. Instead, all messages of a call use the same buffer, so the slices in a
// submission are valid only until the next message is read.
type submission struct {
	offer  *offerPart // nil if the message has no offer
	piece  *piecePart // nil if the message has no piece
	buffer []byte
}

type offerPart struct {
	envelope []byte
	size     uint64
	body     []byte
}

type piecePart struct {
	offset uint64
	data   []byte
}

// These are the field numbers in a SubmitRequest, an Offer and a Piece.
const (
	offerPartField = 1
	piecePartField = 2

	envelopeField = 1
	sizeField     = 2
	bodyField     = 3

	offsetField = 1
	dataField   = 2
)

// read decodes a message. The result is the same as that of proto.Unmarshal.
func (m *submission) read(message mem.BufferSlice) error {
	b := slices.Grow(m.buffer[:0], message.Len())[:message.Len()]
	message.CopyTo(b)
	*m = submission{buffer: b}
	return eachField(b, func(number protowire.Number, kind protowire.Type, value []byte) error {
		if kind != protowire.BytesType {
			return nil
		}
		part, _ := protowire.ConsumeBytes(value)
		switch number {
		case offerPartField: // as in protobuf, a later field replaces an earlier one
			if m.piece = nil; m.offer == nil {
				m.offer = &offerPart{}
			}
			return m.offer.read(part)
		case piecePartField:
			if m.offer = nil; m.piece == nil {
				m.piece = &piecePart{}
			}
			return m.piece.read(part)
		}
		return nil
	})
}

func (o *offerPart) read(b []byte) error {
	return eachField(b, func(number protowire.Number, kind protowire.Type, value []byte) error {
		switch {
		case number == envelopeField && kind == protowire.BytesType:
			o.envelope, _ = protowire.ConsumeBytes(value)
		case number == sizeField && kind == protowire.VarintType:
			o.size, _ = protowire.ConsumeVarint(value)
		case number == bodyField && kind == protowire.BytesType:
			o.body, _ = protowire.ConsumeBytes(value)
		}
		return nil
	})
}

func (p *piecePart) read(b []byte) error {
	return eachField(b, func(number protowire.Number, kind protowire.Type, value []byte) error {
		switch {
		case number == offsetField && kind == protowire.VarintType:
			p.offset, _ = protowire.ConsumeVarint(value)
		case number == dataField && kind == protowire.BytesType:
			p.data, _ = protowire.ConsumeBytes(value)
		}
		return nil
	})
}

var errFieldNumber = errors.New("protocol buffers have no field with so large a number")

// eachField calls f for each field in an encoded message, in order.
func eachField(b []byte, f func(number protowire.Number, kind protowire.Type, value []byte) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if number > protowire.MaxValidNumber {
			return errFieldNumber
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(number, kind, b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
