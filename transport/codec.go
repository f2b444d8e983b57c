package transport

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// A codec encodes and decodes messages as gRPC does. To avoid copies, it differs in two cases: it
// sends an encoded frame as it is, and it does not copy the pieces of a submission when it decodes
// it.
type codec struct{}

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case frame:
		return mem.BufferSlice{mem.SliceBuffer(m.head), m.piece}, nil
	case proto.Message:
		b, err := proto.Marshal(m)
		return mem.BufferSlice{mem.SliceBuffer(b)}, err
	}
	return nil, fmt.Errorf("a message cannot have the type %T", v)
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch m := v.(type) {
	case *submission:
		return m.read(data)
	case proto.Message:
		b := data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer b.Free()
		return proto.Unmarshal(b.ReadOnlyData(), m)
	}
	return fmt.Errorf("a message cannot have the type %T", v)
}

// Name returns the name that gRPC uses for the encoding.
func (codec) Name() string { return "proto" }
