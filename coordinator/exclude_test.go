package coordinator

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/wire"
	"fedpvi/transport"
)

// round makes the parties read new entries and answer a pending plan. The party evil sends
// precisions far below zero.
func (h *house) round(evil identity.Name, parties ...*party) {
	h.t.Helper()
	for _, p := range parties {
		check(h.t, p.follow(h.t.Context()))
		ask, pending := p.site.Pending()
		if !pending {
			continue
		}
		_, err := p.answer()
		check(h.t, err)
		if p.peer.Name == evil {
			change := make([]int64, 5)
			for i := 2; i < len(change); i++ {
				change[i] = -1 << 27
			}
			body := wire.AppendRelease(nil, &pvi.Release{Protocol: pvi.Digest(p.site.Digest()), Number: ask, Client: pvi.ClientID(evil), Change: change})
			item, err := p.sealed(ask, p.models[ask], body, nil)
			check(h.t, err)
			p.outbox = &item
		}
		check(h.t, p.link.Submit(h.t.Context(), *p.outbox))
		p.outbox = nil
	}
}

func (h *house) restart() {
	h.t.Helper()
	check(h.t, h.hub.Close())
	h.open()
}

// One client makes three rounds fail. The coordinator must then wait for an order, even after a
// restart. Once the operator excludes the client, the others must finish the study, and Verify must
// accept its bundle. The log must show every verdict.
//
//abuse:case A20 a client that makes rounds fail: the coordinator stops after three, and goes on without it when it is excluded
func TestExcludedClient(t *testing.T) {
	var log bytes.Buffer
	h, parties := begun(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, planeText(clientPrivacy, "rounds = 5", "min_clients = 2\nmax_rejected = 3"), "north", "south", "west")
	exclude := func(name identity.Name, why string) error { return h.study.Exclude(t.Context(), name, why) }
	for range 6 {
		h.round("west", parties...)
	}
	for range 2 {
		s := h.mustStatus()
		if s.Asked != 3 || s.Rounds == nil || s.Rounds.InARow != 3 || !strings.Contains(s.Waits, "coordinator exclude") || !strings.Contains(s.Reason, "3 rounds in a row") {
			t.Fatalf("after three rejected rounds: %+v", s)
		}
		check(t, h.hub.Close())
		if n := strings.Count(log.String(), "verdict=rejected"); n != 3 {
			t.Errorf("the log has %d of 3 verdicts", n)
		}
		h.open()
	}
	for name, why := range map[identity.Name]string{"east": "unknown", "west": "two\nlines"} {
		if err := exclude(name, why); err == nil {
			t.Errorf("%s was excluded for %q", name, why)
		}
	}
	check(t, exclude("west", "three rounds failed"))
	if err := exclude("west", "again"); err == nil || !strings.Contains(err.Error(), "excluded: three rounds failed") {
		t.Errorf("excluded twice: %v", err)
	}
	if err := exclude("south", "too few are left"); err == nil || !strings.Contains(err.Error(), "coordinator abort") {
		t.Errorf("excluded below min_clients: %v", err)
	}
	h.restart()
	late := parties[2]
	check(t, late.follow(t.Context()))
	if _, pending := late.site.Pending(); pending {
		_, err := late.answer()
		check(t, err)
		if got := reasonOf(t, late.link.Submit(t.Context(), *late.outbox)); got != transport.Denied {
			t.Errorf("the answer of an excluded client: %q", got)
		}
	}
	for range 6 {
		h.round("", parties[:2]...)
	}
	s := h.mustStatus()
	if s.Phase != Ended || s.Rounds.Accepted != 2 {
		t.Errorf("the study does not end: %+v, %+v", s, s.Rounds)
	}
	r, err := verified(t, h)
	if err != nil || r.Ending != "end" || r.Answers != 9+4 {
		t.Errorf("the bundle: %+v, %v", r, err)
	}
}

// The study needs all its clients, so it cannot go on after three rejected rounds.
func TestStalledStudyIsAborted(t *testing.T) {
	h, parties := begun(t, Options{}, planeText(clientPrivacy, "rounds = 5", "max_rejected = 3"), "north", "south", "west")
	for range 6 {
		h.round("west", parties...)
	}
	if s := h.mustStatus(); s.Phase != Aborted || !strings.Contains(s.Reason, "3 rounds in a row") || s.Asked != 3 {
		t.Errorf("%+v", s)
	}
}

// The operator excludes a client while a plan waits for its deal, and the coordinator restarts. The
// other clients must still open their sums. The operator cannot exclude another client, because all
// the rest are needed to open a sum. No new roster version may be signed during a round.
//
//abuse:case A20 with secure sums an excluded client counts as missing, and the sums of the others are opened
func TestExcludedFromSecureSums(t *testing.T) {
	h, parties := begun(t, Options{}, secureText(3), four...)
	others, west := parties[:3], parties[3]
	once(t, parties...)
	west.secure.gone = func(_ sums.Step, ask uint64) bool { return ask == 2 }
	play(t, parties...)
	if s := h.mustStatus(); s.Asked != 2 || len(s.Open) != 1 || s.Open[0].Step != "deals" {
		t.Fatalf("the study does not wait for west: %+v", s)
	}
	check(t, h.study.Exclude(t.Context(), "west", "it does not answer"))
	if err := h.study.Exclude(t.Context(), "south", "too few are left"); err == nil || !strings.Contains(err.Error(), "coordinator abort") {
		t.Errorf("excluded below min_clients: %v", err)
	}
	if _, err := west.chain.Sign(h.study.st.who, transcript.Roster, 2, Hash{}, nil); !errors.Is(err, transcript.ErrKind) {
		t.Errorf("another roster during a round: %v", err)
	}
	h.restart()
	west.secure.gone = nil
	if _, err := west.step(t.Context()); reasonOf(t, err) != transport.Denied {
		t.Errorf("a message of an excluded client: %v", err)
	}
	play(t, others...)
	r, err := verified(t, h)
	if err != nil || r.Ending != "end" || r.Answers != 4+3+3 || h.study.st.secure.federation.Clients() != 4 {
		t.Errorf("the bundle: %+v, %v", r, err)
	}
}
