package transport

import (
	"errors"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"fedpvi/transport/internal/wirepb"
)

// The fields of a FollowResponse.
const (
	startField = 1
	pieceField = 2
)

var errFieldNumber = errors.New("protocol buffers have no field with so large a number")

// An arrival is a received FollowResponse. Its piece is part of the message, is not copied, and is
// valid until free is called.
type arrival struct {
	start *wirepb.FollowResponse_Start // nil if there is none
	piece []byte
	whole mem.Buffer
}

// free releases the memory of the message.
func (a *arrival) free() {
	if a.whole != nil {
		a.whole.Free()
	}
	*a = arrival{}
}

// read decodes a message as proto.Unmarshal does.
func (a *arrival) read(whole mem.Buffer) error {
	a.free()
	a.whole = whole
	return eachField(whole.ReadOnlyData(), func(number protowire.Number, kind protowire.Type, value []byte) error {
		if kind != protowire.BytesType || number != startField && number != pieceField {
			return nil
		}
		part, _ := protowire.ConsumeBytes(value)
		if number == pieceField {
			a.piece = part
			return nil
		}
		if a.start == nil {
			a.start = &wirepb.FollowResponse_Start{}
		}
		return proto.UnmarshalOptions{Merge: true}.Unmarshal(part, a.start)
	})
}
