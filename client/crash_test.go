package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"fedpvi/internal/testing/linestudy"
)

var errKilled = errors.New("killed")

// killAt returns a function for Boundary that kills the process at commit boundary number n,
// counted from 1.
func killAt(n int) func(string) error {
	at := 0
	return func(string) error {
		if at++; at == n {
			return errKilled
		}
		return nil
	}
}

// killAfterCharge kills the process after an answer is charged and before it is sent.
func killAfterCharge(point string) error {
	if point == "charge: after the commit" {
		return errKilled
	}
	return nil
}

// killed runs the client and kills it at commit boundary number n. If the run ends before, killed
// returns false.
func (p *holder) killed(n int) bool {
	p.t.Helper()
	c := p.openWith(killAt(n))
	_, err := p.run(c)
	check(p.t, c.Close())
	if !errors.Is(err, errKilled) {
		check(p.t, err)
		return false
	}
	return true
}

//abuse:case A01 it continues where it was: one charge and the same bytes for each plan
//abuse:case A25 no second answer, at whichever step the client was stopped
func TestKilledClientContinues(t *testing.T) {
	for name, source := range map[string][]byte{
		"record": planeStudy(recordPrivacy, "", ""), "client": planeStudy(clientPrivacy, "", ""),
		"signed": signedStudy(recordPrivacy, "solver = \"clipped-analytical\"", ""),
		"held out": linestudy.Document(linestudy.Parts{
			Version: 2, Privacy: recordPrivacy, Inference: "rounds = 5", Federation: "pace = 0\nnominal_records = 20\n[compare]\nheld_out = 0.4",
		}),
	} {
		t.Run(name, func(t *testing.T) {
			rounds := 3
			if os.Getenv("FEDPVI_LONG") != "" {
				rounds = 50
			}
			source := bytes.Replace(source, []byte("rounds = 3"), fmt.Appendf(nil, "rounds = %d", rounds), 1)
			_, all := begun(t, source, "north", "south")
			want := play(t, all)[0]
			if scored := strings.Contains(string(want.Result), `"held_out"`); scored != (name == "held out") {
				t.Fatalf("the result has scores of held-out records: %t", scored)
			}

			h, all := begun(t, source, "north", "south")
			victim, kills := all[0], 0
			for range 7 * rounds {
				for victim.killed(1) && victim.killed(2) {
					kills += 2
				}
				all[1].mustStep()
			}
			ending, err := victim.step()
			check(t, err)
			if ending == nil || string(ending.Result) != string(want.Result) {
				t.Fatalf("after %d kills the result differs: %+v", kills, ending)
			}
			if kills < 2*len(h.items) {
				t.Errorf("%d kills in a study of %d entries", kills, len(h.items))
			}
			one(t, h, victim)
		})
	}
}

// one checks that a client's ledger has exactly one charge for each answer.
func one(t *testing.T, h *hub, p *holder) {
	t.Helper()
	answers := len(h.answersOf(p.name))
	a := p.account()
	if answers == 0 || len(a.Studies) != 1 || a.Studies[0].Answers != answers || !(a.Spent > 0) {
		t.Errorf("%d answers were accepted, and the account is %+v", answers, a.Studies)
	}
}

//abuse:case A01 the bytes are those that were charged
func TestSameBytesAreSentAgain(t *testing.T) {
	h, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p := all[0]
	c := p.openWith(killAfterCharge)
	if _, err := p.run(c); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	check(t, c.Close())
	if len(h.releases) != 0 {
		t.Fatal("an answer was sent before its charge was on disk")
	}
	sent := func() string {
		p.mustStep()
		item := h.releases[releaseKey{p.name, 1}]
		return fmt.Sprintf("%x %x", item.Envelope, item.Body)
	}
	p.seed++ // a new answer would have different noise
	first, spent := sent(), p.account().Spent
	// The coordinator loses the answer. To the client, it is as if it had never arrived.
	delete(h.releases, releaseKey{p.name, 1})
	h.restart()
	if second := sent(); second != first || strings.TrimSpace(first) == "" {
		t.Error("the second message has other bytes")
	}
	if got := p.account().Spent; got != spent {
		t.Errorf("spent %g, and %g after the second message", spent, got)
	}
}
