package transport

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"

	"fedpvi/crypto/channel"
	"fedpvi/transport/internal/wirepb"
)

// Submit receives a release in pieces. Only one piece is in memory at a time.
func (service) Submit(stream wirepb.Study_SubmitServer) error {
	c := callOf(stream.Context())
	m := &submission{}
	if err := receive(stream, c, m); err != nil {
		return err
	}
	size, err := checkOffer(m, c.study.MaxRelease)
	if err != nil {
		return err
	}
	envelope := sha256.Sum256(m.offer.envelope)
	done, err := c.study.uploads.begin(c, envelope)
	if err != nil {
		return err
	}
	defer done()
	have, err := c.study.Coordinator.Offer(stream.Context(), c.peer, m.offer.envelope, m.offer.body)
	if err != nil {
		return err
	}
	if have < 0 || have > size {
		return fmt.Errorf("the coordinator claims to have %d bytes of a release with %d bytes", have, size)
	}
	if err := say(stream, have); err != nil || have == size {
		return err
	}
	return takePieces(stream, c, m, envelope, have, size)
}

func takePieces(stream wirepb.Study_SubmitServer, c *call, m *submission, envelope Hash, have, size int64) error {
	for have < size {
		if err := receive(stream, c, m); err != nil {
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

func receive(stream wirepb.Study_SubmitServer, c *call, m *submission) error {
	err := stream.RecvMsg(m)
	if errors.Is(err, io.EOF) {
		return refuse(Malformed, "the release ends too early")
	}
	if err != nil {
		return unread(err)
	}
	c.watch.moved()
	return nil
}

func say(stream wirepb.Study_SubmitServer, have int64) error {
	return stream.Send(wirepb.SubmitResponse_builder{Have: uint64(have)}.Build())
}

// uploads has the releases that the server is receiving. If a client's connection breaks, the
// client may call again before the server has noticed. The server then ends the earlier call, so
// that only one call passes pieces of a release to the coordinator.
type uploads struct {
	mu     sync.Mutex
	active map[uploadKey]*uploading
}

type uploadKey struct {
	peer     channel.Party
	envelope Hash
}

type uploading struct {
	end  context.CancelCauseFunc
	done chan struct{}
}

// begin registers a call that sends a release. If there is an earlier call for the same release,
// begin waits until it has ended. The caller must call done when its own call ends.
func (u *uploads) begin(c *call, envelope Hash) (done func(), err error) {
	key := uploadKey{c.peer, envelope}
	own := &uploading{c.end, make(chan struct{})}
	u.mu.Lock()
	before := u.active[key]
	u.active[key] = own
	u.mu.Unlock()
	done = func() {
		u.mu.Lock()
		if u.active[key] == own {
			delete(u.active, key)
		}
		u.mu.Unlock()
		close(own.done)
	}
	if before == nil {
		return done, nil
	}
	before.end(refuse(Unavailable, "the same release arrived over another connection"))
	select {
	case <-before.done:
		return done, nil
	case <-c.ctx.Done():
		<-before.done // a later call waits only for this one, so this one must not end before the earlier one
		done()
		return nil, context.Cause(c.ctx)
	}
}
