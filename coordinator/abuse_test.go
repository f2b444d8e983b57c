package coordinator

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

//abuse:case A12 a flood of second answers: one envelope and one line of the log are kept
func TestFloodOfSecondAnswersIsNotKept(t *testing.T) {
	s := newStand(t)
	check(t, s.north.submit(t.Context(), s.good, 1<<20))
	var log bytes.Buffer
	s.study.log = slog.New(slog.NewTextHandler(&log, nil))
	for n := range uint64(20) {
		again := s.with(func(h *signed.Header) { h.LedgerSeq += n + 1 })
		if got := reasonOf(t, s.north.submit(t.Context(), again, 1<<20)); got != transport.OutOfPlace {
			t.Errorf("answer %d: %q", n+2, got)
		}
	}
	s.mustStatus() // wait until the study's goroutine has written its log lines
	if lines := strings.Count(log.String(), "two answers"); lines != 1 || len(evidence(t, s.house)) != 1 {
		t.Errorf("%d lines of the log and the envelopes %x", lines, evidence(t, s.house))
	}
}

// If a client cancels a call, the error must not be the one that marks the end of the study,
// because the client would then stop.
//
//abuse:case A25 an upload that is cancelled while others are opened can be sent again
func TestCancelledCallIsNotTheEnd(t *testing.T) {
	s := newStand(t)
	_, err := s.study.Offer(t.Context(), s.north.peer, s.good.Envelope, nil)
	check(t, err)
	for range cap(s.study.opener.tokens) {
		s.study.opener.tokens <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &written{release: transcript.Release{}, whole: s.good.Body}
	cancel()
	if err := s.study.finish(ctx, s.north.peer, w); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	for range cap(s.study.opener.tokens) {
		<-s.study.opener.tokens
	}
	check(t, s.north.submit(t.Context(), s.good, 1<<20))
}
