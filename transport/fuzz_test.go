package transport

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"fedpvi/crypto/channel"
	"fedpvi/internal/testing/memory"
	"fedpvi/transport/internal/wirepb"
)

// stream encodes messages as one byte string. cut splits it again.
func stream(t testing.TB, messages ...proto.Message) (all []byte) {
	for _, m := range messages {
		b, err := proto.Marshal(m)
		check(t, err)
		all = append(binary.LittleEndian.AppendUint16(all, uint16(len(b))), b...)
	}
	return all
}

func cut(all []byte) (messages [][]byte) {
	for len(all) >= 2 {
		n := min(int(binary.LittleEndian.Uint16(all)), len(all)-2)
		messages = append(messages, all[2:2+n])
		all = all[2+n:]
	}
	return messages
}

// FuzzEntry assembles an entry from arbitrary messages. If the entry is complete, it must have the
// size and hash in its start message. If it is not, it must use memory in proportion to the bytes
// received.
func FuzzEntry(f *testing.F) {
	body := []byte("the body of an entry")
	f.Add(stream(f, answer(1, body, 0, body)))
	f.Add(stream(f, answer(1, body, 0, body[:5]), more(body[5:])))
	f.Add(stream(f, answer(1, nil, 0, nil)))
	f.Add(stream(f, abridged(1, body, nil)))
	f.Add(stream(f, abridged(1, body, body[:5]), more(body[5:])))
	f.Add(stream(f, answer(1, body, 0, body[:5]), more(body[5:]), more(body)))
	f.Fuzz(func(t *testing.T, all []byte) {
		const limit = 1 << 12
		memory.Bound(t, len(all), func() { replay(newAssembly(1, limit, true), all) })
		a := newAssembly(1, limit, true)
		for _, b := range cut(all) {
			m := arrived(b)
			if m == nil {
				return
			}
			complete, err := a.take(m)
			if len(a.item.Body) > min(limit, len(all)) {
				t.Fatalf("%d bytes of %d", len(a.item.Body), len(all))
			}
			if err != nil {
				return
			}
			if complete && a.item.Derived {
				if a.item.Body != nil || len(m.GetPiece()) > 0 {
					t.Fatal("complete without its body, part of which arrived")
				}
				return
			}
			if sum := sha256.Sum256(a.item.Body); complete && (!bytes.Equal(sum[:], m.GetStart().GetSha256()) && m.HasStart() || int64(len(a.item.Body)) != a.size) {
				t.Fatal("complete and different from the announcement")
			}
			if complete {
				return
			}
		}
	})
}

// arrived returns the decoded message. If the message is invalid, it returns nil.
func arrived(b []byte) *wirepb.FollowResponse {
	m := &wirepb.FollowResponse{}
	if (codec{}).Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, m) != nil {
		return nil
	}
	return m
}

// replay passes messages to an assembly until the assembly refuses one.
func replay(a *assembly, all []byte) {
	for _, b := range cut(all) {
		m := arrived(b)
		if m == nil {
			return
		}
		if complete, err := a.take(m); complete || err != nil {
			return
		}
	}
}

// A tape takes the place of the network stream in a call of Submit. It passes recorded messages to
// the server and discards the responses.
type tape struct {
	wirepb.Study_SubmitServer
	ctx  context.Context
	rest [][]byte
}

func (p *tape) Context() context.Context          { return p.ctx }
func (p *tape) Send(*wirepb.SubmitResponse) error { return nil }

func (p *tape) RecvMsg(m any) error {
	if len(p.rest) == 0 {
		return io.EOF
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(b[:len(b)/2]), mem.SliceBuffer(b[len(b)/2:])}, m)
}

// submitted decodes b into m, and checks that protobuf decodes b to the same.
func submitted(t *testing.T, m *submission, b []byte) {
	t.Helper()
	want := &wirepb.SubmitRequest{}
	err := proto.Unmarshal(b, want)
	if got := (codec{}).Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, m); (got == nil) != (err == nil) {
		t.Fatalf("%x is decoded with %v, and by protobuf with %v", b, got, err)
	}
	if err != nil {
		return
	}
	if (m.offer != nil) != want.HasOffer() || (m.piece != nil) != want.HasPiece() {
		t.Fatalf("%x is decoded differently by protobuf", b)
	}
	if o := want.GetOffer(); m.offer != nil && (!bytes.Equal(m.offer.envelope, o.GetEnvelope()) || m.offer.size != o.GetSize() || !bytes.Equal(m.offer.body, o.GetBody())) {
		t.Fatalf("%x is another offer than by protobuf", b)
	}
	if p := want.GetPiece(); m.piece != nil && (m.piece.offset != p.GetOffset() || !bytes.Equal(m.piece.data, p.GetData())) {
		t.Fatalf("%x is another piece than by protobuf", b)
	}
}

// FuzzRelease sends arbitrary messages from a client. The coordinator must get the pieces of an
// answer in order, and no more bytes than the client has offered.
func FuzzRelease(f *testing.F) {
	it := item([]byte("the body of a release"))
	f.Add(stream(f, offer(it.Envelope, 21), piece(0, it.Body)))
	f.Add(stream(f, offer(it.Envelope, 21), piece(0, it.Body[:4]), piece(4, it.Body[4:])))
	f.Add(stream(f, offer(it.Envelope, 21), piece(1, it.Body[:4])))
	f.Add(stream(f, offer(it.Envelope, 1<<63), piece(0, it.Body)))
	f.Fuzz(func(t *testing.T, all []byte) {
		const limit = 1 << 12
		var m submission
		for _, b := range cut(all) {
			submitted(t, &m, b)
		}
		desk := newDesk()
		ctx, end := context.WithCancelCause(t.Context())
		defer end(nil)
		watch := newWatch(time.Hour, end)
		defer watch.stop()
		s := &served{Study: Study{Coordinator: desk, MaxRelease: limit}, uploads: uploads{active: map[uploadKey]*uploading{}}}
		c := &call{study: s, peer: channel.Party{Name: "north"}, watch: watch, ctx: ctx, end: end}
		var err error
		memory.Bound(t, len(all), func() {
			desk = newDesk()
			s.Coordinator = desk
			err = service{}.Submit(&tape{ctx: context.WithValue(ctx, callKey{}, c), rest: cut(all)})
		})
		if n := desk.written(); n > limit || n > len(all) {
			t.Fatalf("%d bytes were written of %d", n, len(all))
		}
		for _, u := range desk.bodies {
			if err == nil && len(u.body) == 0 {
				t.Fatal("accepted without a byte")
			}
		}
		if len(s.uploads.active) != 0 {
			t.Fatal("an upload is left over")
		}
	})
}

// FuzzCalls sends arbitrary messages to the methods that take one request. Each call must return a
// response or a refusal.
func FuzzCalls(f *testing.F) {
	for _, m := range []proto.Message{
		wirepb.JoinRequest_builder{Token: []byte("token"), Entry: []byte("e"), Request: []byte("r")}.Build(),
		wirepb.RenewRequest_builder{Request: []byte("r")}.Build(),
		wirepb.FollowRequest_builder{Number: 1, Stay: true}.Build(),
		wirepb.HelloRequest_builder{Lowest: 1, Highest: 2}.Build(),
	} {
		f.Add(stream(f, m)[2:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ctx := context.WithValue(t.Context(), callKey{}, &call{study: &served{Study: Study{Coordinator: newDesk()}}})
		s := service{server: &Server{versions: ours}}
		var errs []error
		memory.Bound(t, 6*len(b), func() {
			errs = []error{
				called(ctx, b, s.Hello), called(ctx, b, s.Join), called(ctx, b, s.Renew), called(ctx, b, s.Standing), called(ctx, b, s.Approve),
				called(ctx, b, func(_ context.Context, m *wirepb.FollowRequest) (*wirepb.FollowResponse, error) {
					return nil, checkFollow(m)
				}),
			}
		})
		for _, err := range errs {
			var r *Refusal
			if err != nil && !errors.As(err, &r) {
				t.Fatalf("neither answered nor refused: %v", err)
			}
		}
	})
}

// called decodes a message and calls a method with the result.
func called[In, Out any, P interface {
	*In
	proto.Message
}](ctx context.Context, b []byte, method func(context.Context, P) (*Out, error),
) error {
	m := P(new(In))
	if proto.Unmarshal(b, m) != nil {
		return nil
	}
	_, err := method(ctx, m)
	return err
}

// FuzzRefusal decodes arbitrary responses from a coordinator. Every refusal must have a known
// reason and a printable text.
func FuzzRefusal(f *testing.F) {
	good, err := proto.Marshal(status.Convert(refuse(Denied, "no").status()).Proto())
	check(f, err)
	f.Add(good)
	f.Fuzz(func(t *testing.T, b []byte) {
		m := status.New(codes.OK, "").Proto()
		if proto.Unmarshal(b, m) != nil || m.GetCode() == 0 {
			return
		}
		var r *Refusal
		memory.Bound(t, len(b), func() { r = refusalIn(status.FromProto(m).Err()) })
		if r == nil {
			return
		}
		if _, known := reasonCodes[r.Reason]; !known || len(r.Text) > maxText+3 || plain(r.Text) != r.Text {
			t.Errorf("%q is shown as a refusal", r)
		}
	})
}
