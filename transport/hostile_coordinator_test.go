package transport

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"fedpvi/transport/internal/wirepb"
)

// answer returns a valid first message of an entry.
func answer(number uint64, body []byte, offset uint64, first []byte) *wirepb.FollowResponse {
	sum := sha256.Sum256(body)
	return wirepb.FollowResponse_builder{Start: wirepb.FollowResponse_Start_builder{
		Number: number, Envelope: []byte("envelope"), Size: uint64(len(body)), Sha256: sum[:], Offset: offset,
	}.Build(), Piece: first}.Build()
}

func more(data []byte) *wirepb.FollowResponse {
	return wirepb.FollowResponse_builder{Piece: data}.Build()
}

// abridged returns the start message of an entry without its body. The message also has a piece,
// which is not allowed.
func abridged(number uint64, body, piece []byte) *wirepb.FollowResponse {
	return changed(answer(number, body, 0, piece), func(s *wirepb.FollowResponse_Start) { s.SetBrief(true) })
}

func encoded(t *testing.T, m proto.Message) []byte {
	b, err := proto.Marshal(m)
	check(t, err)
	return b
}

func changed(m *wirepb.FollowResponse, change func(*wirepb.FollowResponse_Start)) *wirepb.FollowResponse {
	change(m.GetStart())
	return m
}

// sends returns a method that sends messages, and then waits for the client to end the call.
func sends(messages ...*wirepb.FollowResponse) func(*wirepb.FollowRequest, wirepb.Study_FollowServer) error {
	return func(_ *wirepb.FollowRequest, s wirepb.Study_FollowServer) error {
		for _, m := range messages {
			if err := s.Send(m); err != nil {
				return err
			}
		}
		<-s.Context().Done()
		return nil
	}
}

//abuse:case A12 a client accepts the announced bytes and no more
//abuse:case P05 an entry with another hash is refused
func TestHostileEntries(t *testing.T) {
	body := []byte("the body of an entry")
	for name, messages := range map[string][]*wirepb.FollowResponse{
		"an empty message":         {{}},
		"no start":                 {more(body)},
		"another number":           {answer(2, body, 0, body)},
		"an offset":                {answer(1, body, 3, body[3:])},
		"no envelope":              {changed(answer(1, body, 0, body), func(s *wirepb.FollowResponse_Start) { s.SetEnvelope(nil) })},
		"a long envelope":          {changed(answer(1, body, 0, body), func(s *wirepb.FollowResponse_Start) { s.SetEnvelope(make([]byte, MaxEnvelope+1)) })},
		"a short hash":             {changed(answer(1, body, 0, body), func(s *wirepb.FollowResponse_Start) { s.SetSha256([]byte{1}) })},
		"another hash":             {changed(answer(1, body, 0, body), func(s *wirepb.FollowResponse_Start) { s.SetSha256(make([]byte, 32)) })},
		"a large body":             {changed(answer(1, body, 0, nil), func(s *wirepb.FollowResponse_Start) { s.SetSize(16<<20 + 1) })},
		"a body beyond all bounds": {changed(answer(1, body, 0, nil), func(s *wirepb.FollowResponse_Start) { s.SetSize(1<<64 - 1) })},
		"two starts":               {answer(1, body, 0, nil), answer(1, body, 0, nil)},
		"a piece of nothing":       {answer(1, body, 0, nil), more(nil)},
		"a piece too long":         {answer(1, body, 0, body[:5]), more(body)},
		"a piece beyond a piece":   {answer(1, make([]byte, 8<<20), 0, make([]byte, MaxPiece+1))},
		"a byte changed":           {answer(1, body, 0, body[:5]), more(bytes.ToUpper(body[5:]))},
		"the entry after next":     {answer(1, body, 0, body), answer(3, body, 0, body)},
		"no body, unasked":         {abridged(1, body, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialImpostor(t, &impostor{version: 1, follow: sends(messages...)})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // if the client accepts a message, it waits for the next one
			defer cancel()
			_, err := c.Entry(ctx, 1)
			if err == nil {
				_, err = c.Entry(ctx, 2)
			}
			wantBreach(t, err)
		})
	}
}

// The client must refuse a piece that is too long at once, before it checks the hash.
func TestPieceBeyondTheEnd(t *testing.T) {
	body := []byte("the body of an entry")
	a := newAssembly(1, 100, false)
	_, err := a.take(arrived(encoded(t, answer(1, body, 0, body[:5]))))
	check(t, err)
	_, err = a.take(arrived(encoded(t, more(body))))
	wantRefusal(t, err, TooLarge)
	if len(a.item.Body) != 5 {
		t.Errorf("%d bytes are kept", len(a.item.Body))
	}
}

// The connection breaks within an entry, and the next one delivers different bytes.
func TestEntryThatChangesBetweenConnections(t *testing.T) {
	body := []byte("the body of an entry")
	for name, change := range map[string]func(*wirepb.FollowResponse_Start){
		"envelope": func(s *wirepb.FollowResponse_Start) { s.SetEnvelope([]byte("another")) },
		"size":     func(s *wirepb.FollowResponse_Start) { s.SetSize(s.GetSize() + 1) },
		"hash":     func(s *wirepb.FollowResponse_Start) { s.SetSha256(make([]byte, 32)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := &impostor{version: 1, follow: func(m *wirepb.FollowRequest, s wirepb.Study_FollowServer) error {
					if m.GetOffset() == 0 {
						s.Send(answer(1, body, 0, body[:5]))
						return status.Error(codes.Unavailable, "for a moment")
					}
					return s.Send(changed(answer(1, body, 5, body[5:]), change))
				}}
				c := dialImpostor(t, i)
				_, err := c.Entry(t.Context(), 1)
				wantBreach(t, err)
			})
		})
	}
}

func TestHostileAnswersToARelease(t *testing.T) {
	for name, submit := range map[string]func(wirepb.Study_SubmitServer) error{
		"nothing": func(wirepb.Study_SubmitServer) error { return nil },
		"more than there is": func(s wirepb.Study_SubmitServer) error {
			return say(s, 1000)
		},
		"less than was sent": func(s wirepb.Study_SubmitServer) error {
			say(s, 0)
			for {
				if _, err := s.Recv(); err != nil {
					return err
				}
				if err := say(s, 1); err != nil {
					return err
				}
			}
		},
		"an end before the end": func(s wirepb.Study_SubmitServer) error {
			say(s, 0)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialImpostor(t, &impostor{version: 1, submit: submit})
			wantBreach(t, c.Submit(t.Context(), item([]byte("a release"))))
		})
	}
}

//abuse:case A11 refused by the client
func TestVersionThatWasNotOffered(t *testing.T) {
	for _, v := range []uint32{0, MaxVersion + 1, 1<<32 - 1} {
		_, err := Dial(t.Context(), serveImpostor(t, &impostor{version: v}))
		wantBreach(t, err)
	}
}

//abuse:case P07 text from the other end cannot control a terminal or a log
func TestRefusalIsPlainText(t *testing.T) {
	long := "\x1b[2J\x07\u202e" + strings.Repeat("é", 600)
	i := &impostor{version: 1, join: func() (*wirepb.JoinResponse, error) { return nil, refuse(Denied, "%s", long).rawStatus() }}
	c := dialImpostor(t, i)
	_, err := c.Join(t.Context(), JoinRequest{})
	wantRefusal(t, err, Denied)
	var r *Refusal
	if errors.As(err, &r) && (strings.ContainsAny(r.Text, "\x1b\x07\u202e") || len(r.Text) > maxText+len("...")) {
		t.Errorf("the text is %q", r.Text)
	}
}

// If the client does not know a reason, the error must not be a Refusal.
func TestUnknownReason(t *testing.T) {
	i := &impostor{version: 1, join: func() (*wirepb.JoinResponse, error) { return nil, refuse("whim", "no").status() }}
	c := dialImpostor(t, i)
	_, err := c.Join(t.Context(), JoinRequest{})
	var r *Refusal
	if err == nil || errors.As(err, &r) {
		t.Errorf("%v", err)
	}
}

// rawStatus returns a status with the text of the refusal, without checking the text.
func (r *Refusal) rawStatus() error {
	s, err := status.New(codes.PermissionDenied, r.Text).WithDetails(wirepb.Refusal_builder{Reason: string(r.Reason), Text: r.Text}.Build())
	if err != nil {
		return err
	}
	return s.Err()
}
