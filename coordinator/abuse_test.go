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

// A client that contradicts itself again and again fills neither the disk nor the log.
//
//abuse:case A12 a flood of second answers: one envelope and one line of the log are kept
func TestAFloodOfSecondAnswers(t *testing.T) {
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
	s.mustStatus() // what was to be logged is logged
	if lines := strings.Count(log.String(), "two answers"); lines != 1 || evidence(t, s.house) != 1 {
		t.Errorf("%d lines of the log and %d envelopes", lines, evidence(t, s.house))
	}
}

// A call that is given up while it waits for its turn does not look like the end of the
// study, which a client would believe.
//
//abuse:case A25 an upload that is given up while others are opened can be sent again
func TestGivingUpIsNotTheEnd(t *testing.T) {
	s := newStand(t)
	_, err := s.study.Offer(t.Context(), s.north.peer, s.good.Envelope, nil)
	check(t, err)
	for range cap(s.study.opener.tokens) {
		<-s.study.opener.tokens
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &written{release: transcript.Release{}, whole: s.good.Body}
	cancel()
	if err := s.study.finish(ctx, s.north.peer, w); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	for range cap(s.study.opener.tokens) {
		s.study.opener.tokens <- struct{}{}
	}
	check(t, s.north.submit(t.Context(), s.good, 1<<20))
}
