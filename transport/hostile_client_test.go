package transport

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fedpvi/transport/internal/wirepb"
)

func offer(envelope []byte, size uint64) *wirepb.SubmitRequest {
	return wirepb.SubmitRequest_builder{Offer: wirepb.SubmitRequest_Offer_builder{Envelope: envelope, Size: size}.Build()}.Build()
}

// prompt returns an offer message that includes the body.
func prompt(envelope []byte, size uint64, body []byte) *wirepb.SubmitRequest {
	return wirepb.SubmitRequest_builder{Offer: wirepb.SubmitRequest_Offer_builder{Envelope: envelope, Size: size, Body: body}.Build()}.Build()
}

func piece(offset uint64, data []byte) *wirepb.SubmitRequest {
	return wirepb.SubmitRequest_builder{Piece: wirepb.SubmitRequest_Piece_builder{Offset: offset, Data: data}.Build()}.Build()
}

// submitAll sends messages and returns the error in the last response.
func submitAll(t *testing.T, rpc wirepb.StudyClient, messages ...*wirepb.SubmitRequest) error {
	t.Helper()
	stream, err := rpc.Submit(inVersion(t.Context(), "1"))
	check(t, err)
	for _, m := range messages {
		if err := stream.Send(m); err != nil {
			break // the server refused the call; Recv below returns the reason
		}
	}
	stream.CloseSend()
	for {
		if _, err := stream.Recv(); err != nil {
			return wrapped(err)
		}
	}
}

//abuse:case A12 refused before the coordinator is asked
//abuse:case P03 sizes and offsets up to 2⁶⁴−1 are refused
func TestHostileReleases(t *testing.T) {
	w := newWorld(t)
	rpc := wirepb.NewStudyClient(w.raw(w.config("north")))
	full := func(b byte) Item { return item(bytes.Repeat([]byte{b}, 100)) }
	for _, c := range []struct {
		name     string
		messages []*wirepb.SubmitRequest
		reason   Reason
	}{
		{"nothing", nil, Malformed},
		{"an empty message", []*wirepb.SubmitRequest{{}}, Malformed},
		{"a piece first", []*wirepb.SubmitRequest{piece(0, []byte{1})}, Malformed},
		{"no envelope", []*wirepb.SubmitRequest{offer(nil, 100)}, Malformed},
		{"a long envelope", []*wirepb.SubmitRequest{offer(make([]byte, MaxEnvelope+1), 100)}, Malformed},
		{"no body", []*wirepb.SubmitRequest{offer(full(1).Envelope, 0)}, Malformed},
		{"a large body", []*wirepb.SubmitRequest{offer(full(1).Envelope, 8<<20+1)}, TooLarge},
		{"a body beyond all bounds", []*wirepb.SubmitRequest{offer(full(1).Envelope, 1<<64-1)}, TooLarge},
		{"a part of the body with the offer", []*wirepb.SubmitRequest{prompt(full(1).Envelope, 100, full(1).Body[:99])}, Malformed},
		{"more than the body with the offer", []*wirepb.SubmitRequest{prompt(full(1).Envelope, 100, make([]byte, 101))}, Malformed},
		{"a long body with the offer", []*wirepb.SubmitRequest{prompt(full(1).Envelope, MaxPiece+1, make([]byte, MaxPiece+1))}, Malformed},
		{"a second offer", []*wirepb.SubmitRequest{offer(full(2).Envelope, 100), offer(full(2).Envelope, 100)}, Malformed},
		{"an empty piece", []*wirepb.SubmitRequest{offer(full(2).Envelope, 100), piece(0, nil)}, Malformed},
		{"a gap", []*wirepb.SubmitRequest{offer(full(2).Envelope, 100), piece(1, make([]byte, 99))}, OutOfPlace},
		{"an offset beyond all bounds", []*wirepb.SubmitRequest{offer(full(2).Envelope, 100), piece(1<<64-1, make([]byte, 1))}, OutOfPlace},
		{"a piece too long", []*wirepb.SubmitRequest{offer(full(2).Envelope, 100), piece(0, make([]byte, 101))}, TooLarge},
		{"a piece beyond a piece", []*wirepb.SubmitRequest{offer(full(2).Envelope, 8<<20), piece(0, make([]byte, MaxPiece+1))}, Malformed},
		{"half of it", []*wirepb.SubmitRequest{offer(full(3).Envelope, 100), piece(0, full(3).Body[:50])}, Malformed},
		{"the first half again", []*wirepb.SubmitRequest{offer(full(3).Envelope, 100), piece(0, full(3).Body[:50])}, OutOfPlace},
		{"a release that the coordinator refuses", []*wirepb.SubmitRequest{offer([]byte("short"), 100)}, Malformed},
	} {
		t.Run(c.name, func(t *testing.T) { wantRefusal(t, submitAll(t, rpc, c.messages...), c.reason) })
	}
	if n := w.desk.written(); n != 50 {
		t.Errorf("the coordinator got %d bytes, want the 50 of one half", n)
	}
	// After these failures, the coordinator must still accept the second half of the release.
	if err := submitAll(t, rpc, offer(full(3).Envelope, 100), piece(50, full(3).Body[50:])); !errors.Is(err, io.EOF) || w.desk.taken(full(3)) != 1 {
		t.Errorf("%v", err)
	}
}

// An oversized message must be refused by gRPC itself, with its own error.
//
//abuse:case A12 refused before it is read
func TestOversizedMessageIsRefused(t *testing.T) {
	w := newWorld(t)
	rpc := wirepb.NewStudyClient(w.raw(w.config("north")))
	err := submitAll(t, rpc, offer(item([]byte{1}).Envelope, 8<<20), piece(0, make([]byte, maxAsked+1)))
	if status.Code(err) != codes.ResourceExhausted || w.desk.written() != 0 {
		t.Errorf("%v", err)
	}
}

func TestHostileCalls(t *testing.T) {
	w := newWorld(t)
	rpc := wirepb.NewStudyClient(w.raw(w.config("north")))
	guest := wirepb.NewStudyClient(w.raw(w.guest()))
	ctx := inVersion(t.Context(), "1")
	long := make([]byte, maxIdentity+1)
	for name, call := range map[string]func() error{
		"an empty approval":    func() error { _, err := rpc.Approve(ctx, &wirepb.ApproveRequest{}); return err },
		"an empty request":     func() error { _, err := rpc.Renew(ctx, &wirepb.RenewRequest{}); return err },
		"a long request":       func() error { _, err := rpc.Renew(ctx, wirepb.RenewRequest_builder{Request: long}.Build()); return err },
		"joining with nothing": func() error { _, err := guest.Join(ctx, &wirepb.JoinRequest{}); return err },
		"a long token": func() error {
			_, err := guest.Join(ctx, wirepb.JoinRequest_builder{Token: long, Entry: []byte{1}, Request: []byte{1}}.Build())
			return err
		},
		"no versions": func() error { _, err := rpc.Hello(ctx, &wirepb.HelloRequest{}); return err },
		"versions upside down": func() error {
			_, err := rpc.Hello(ctx, wirepb.HelloRequest_builder{Lowest: 2, Highest: 1}.Build())
			return err
		},
		"entry zero": func() error {
			stream, err := rpc.Follow(ctx, &wirepb.FollowRequest{})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { wantRefusal(t, wrapped(call()), Malformed) })
	}
	if len(w.desk.peers) != 0 {
		t.Errorf("the coordinator was called: %v", w.desk.peers)
	}
}

func TestOffsetBehindAnEntry(t *testing.T) {
	w := newWorld(t)
	w.desk.say([]byte("ten bytes."))
	rpc := wirepb.NewStudyClient(w.raw(w.config("north")))
	stream, err := rpc.Follow(inVersion(t.Context(), "1"), wirepb.FollowRequest_builder{Number: 1, Offset: 11}.Build())
	check(t, err)
	_, err = stream.Recv()
	wantRefusal(t, wrapped(err), OutOfPlace)
}

//abuse:case A12 ended; the memory held for it is bounded
func TestStalledCallEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.desk.say(make([]byte, 8<<20))
		rpc := wirepb.NewStudyClient(w.raw(w.config("north")))
		ctx := inVersion(t.Context(), "1")

		silent, err := rpc.Submit(ctx)
		check(t, err)
		half, err := rpc.Submit(ctx)
		check(t, err)
		check(t, half.Send(offer(item([]byte("ab")).Envelope, 2)))
		if m, err := half.Recv(); err != nil || m.GetHave() != 0 {
			t.Fatalf("%v, %v", m, err)
		}
		for _, stream := range []wirepb.Study_SubmitClient{silent, half} {
			if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
				t.Errorf("a call that stalls ends with %v", err)
			}
		}

		deaf, err := rpc.Follow(ctx, wirepb.FollowRequest_builder{Number: 1}.Build())
		check(t, err)
		check(t, rest(ctx, 2*w.server.timing.stall))
		got := 0
		for err == nil {
			var m *wirepb.FollowResponse
			m, err = deaf.Recv()
			got += len(m.GetPiece())
		}
		if status.Code(err) != codes.Canceled {
			t.Errorf("a call that stalls ends with %v", err)
		}
		if got > 2<<20 {
			t.Errorf("%d bytes were held for a client that does not read", got)
		}
	})
}

func TestWaitingForAnEntryIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		north := w.dial(w.config("north"))
		go func() {
			rest(t.Context(), 100*w.server.timing.stall)
			w.desk.say([]byte("at last"))
		}()
		if got, err := north.Entry(t.Context(), 1); err != nil || string(got.Body) != "at last" {
			t.Errorf("%q, %v", got.Body, err)
		}
		if n := w.desk.asked(); n != 2 { // one call for this entry and one for the next
			t.Errorf("the coordinator was called %d times", n)
		}
	})
}
