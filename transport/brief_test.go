package transport

import (
	"bytes"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fedpvi/transport/internal/wirepb"
)

// tell publishes an entry with a body that clients can compute from earlier entries.
func (d *desk) tell(body []byte) {
	d.say(body)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries[len(d.entries)-1].Derived = true
}

// If a client sets Brief, the coordinator must leave out every body that the client can compute,
// unless the client requests it. Other clients, such as older programs, must receive all bodies.
func TestBodyThatFollowsIsLeftOut(t *testing.T) {
	for name, poll := range map[string]time.Duration{"connected": 0, "polling": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			outcome, plan := bytes.Repeat([]byte("outcome"), 10_000), bytes.Repeat([]byte("plan"), 20_000)
			w.desk.say(outcome)
			w.desk.tell(plan)
			w.desk.say(outcome)
			brief, moved := w.config("north"), newCounter()
			brief.Brief, brief.Poll, brief.Observer = true, poll, moved
			north, south := w.dial(brief), w.dial(w.config("south"))
			for n := uint64(1); n <= 3; n++ {
				got, err := north.Entry(t.Context(), n)
				check(t, err)
				if derived := n == 2; got.Derived != derived || (got.Body == nil) != derived || !bytes.Equal(got.Envelope, w.desk.entries[n-1].Envelope) {
					t.Errorf("entry %d comes with %d bytes, and derived: %t", n, len(got.Body), got.Derived)
				}
				all, err := south.Entry(t.Context(), n)
				check(t, err)
				if !bytes.Equal(all.Body, w.desk.entries[n-1].Body) {
					t.Errorf("entry %d comes with %d bytes to a client that wants all", n, len(all.Body))
				}
			}
			if _, got, _ := moved.counts(); got < 2*len(outcome) || got > 2*len(outcome)+len(plan)/2 {
				t.Errorf("%d bytes came for two outcomes of %d, the plan has %d", got, len(outcome), len(plan))
			}
			got, err := north.Whole(t.Context(), 2)
			check(t, err)
			if !bytes.Equal(got.Body, plan) {
				t.Errorf("%d bytes of a plan of %d", len(got.Body), len(plan))
			}
		})
	}
}

// The client may accept an entry without a body only if it has set Brief, has not received a piece
// of the body, and the message has no piece either.
func TestHostileOmission(t *testing.T) {
	body := []byte("the body of an entry")
	for name, c := range map[string]struct {
		follow func(*wirepb.FollowRequest, wirepb.Study_FollowServer) error
		whole  bool
	}{
		"with a piece":     {sends(abridged(1, body, body[:5])), false},
		"another number":   {sends(abridged(2, body, nil)), false},
		"asked for whole":  {sends(abridged(1, body, nil)), true},
		"the body is gone": {func(*wirepb.FollowRequest, wirepb.Study_FollowServer) error { return nil }, true},
		"after half its bytes": {func(m *wirepb.FollowRequest, s wirepb.Study_FollowServer) error {
			if m.GetOffset() == 0 {
				s.Send(answer(1, body, 0, body[:5]))
				return status.Error(codes.Unavailable, "for a moment")
			}
			return s.Send(changed(abridged(1, body, nil), func(s *wirepb.FollowResponse_Start) { s.SetOffset(5) }))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			config := serveImpostor(t, &impostor{version: 1, follow: c.follow})
			config.Brief = true
			client, err := Dial(t.Context(), config)
			check(t, err)
			defer client.Close()
			get := client.Entry
			if c.whole {
				get = client.Whole
			}
			_, err = get(t.Context(), 1)
			wantBreach(t, err)
		})
	}
}
