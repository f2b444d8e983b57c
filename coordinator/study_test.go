package coordinator

import (
	"bytes"
	"testing"

	"go.uber.org/goleak"

	"fedpvi/crypto/transcript"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inOneProcess computes the entries and result of a study without a coordinator. It uses the same
// noise as the parties.
func inOneProcess(t *testing.T, document []byte, parties []*party) (entries []session.Entry, result []byte) {
	t.Helper()
	st, err := study.Parse("plane.toml", document)
	check(t, err)
	var roster []pvi.ClientID
	for _, p := range parties {
		roster = append(roster, pvi.ClientID(p.peer.Name))
	}
	server, err := session.NewServer(st, roster)
	check(t, err)
	sites := map[pvi.ClientID]*session.Site{}
	for m, id := range roster {
		sites[id], err = session.NewSite(st, roster, id, parties[m].records)
		check(t, err)
	}
	say := func(e session.Entry) {
		entries = append(entries, e)
		for _, s := range sites {
			check(t, s.Follow(e))
		}
	}
	for !server.Done() {
		for {
			plan, ok := server.Next()
			if !ok {
				break
			}
			say(plan)
		}
		for m, id := range roster {
			ask, ok := sites[id].Pending()
			if !ok {
				continue
			}
			a, err := sites[id].Answer(seeded.Stream(1, "client", uint64(m), uint64(ask)))
			check(t, err)
			outcome, err := server.Collect(id, ask, a.Release)
			check(t, err)
			if outcome != nil {
				say(*outcome)
				break
			}
		}
	}
	r, err := server.Result()
	check(t, err)
	result, err = r.Bytes()
	check(t, err)
	return entries, result
}

func equalsOneProcess(t *testing.T, document []byte, parties []*party, p *party) {
	t.Helper()
	entries, result := inOneProcess(t, document, parties)
	if len(p.entries) != len(entries)+2 {
		t.Fatalf("%d entries, want %d and the roster and the end", len(p.entries), len(entries))
	}
	for i, e := range entries {
		if !bytes.Equal(e.Body, p.entries[i+1].Body) {
			t.Errorf("entry %d is another", i+2)
		}
	}
	closing, err := transcript.ParseClosing(p.entries[len(p.entries)-1].Body)
	check(t, err)
	if !bytes.Equal(closing.Result, result) {
		t.Errorf("the posterior is another:\n%s\n%s", closing.Result, result)
	}
}

// A plan from the cache or the disk must have no body, because clients can compute it. All other
// entries must have one.
func TestOnlyPlansAreDerived(t *testing.T) {
	h, parties := begun(t, Options{}, planeText(clientPrivacy, "rounds = 2", ""), "north", "south")
	play(t, parties...)
	check(t, h.hub.Close())
	cached := parties[0].entries
	h.open()
	chain := transcript.Begin(h.study.Hash(), h.study.st.who.Public())
	for i, before := range cached {
		stored, err := h.study.Entry(t.Context(), parties[0].peer, uint64(i+1))
		check(t, err)
		next, e, err := chain.Follow(stored.Envelope, stored.Body)
		check(t, err)
		chain = next
		if plan := e.Kind.Plan(); before.Derived != plan || stored.Derived != plan {
			t.Errorf("entry %d, a %s, is derived: %t, and from the disk: %t", e.Number, e.Kind, before.Derived, stored.Derived)
		}
	}
}

// The entries and the posterior must be the same as in one process, bit for bit.
func TestStudyEqualsOneProcess(t *testing.T) {
	for name, document := range map[string][]byte{
		"client level":  planeText(clientPrivacy, "rounds = 3", ""),
		"not private":   planeText(noPrivacy, "rounds = 3", ""),
		"one by one":    planeText(noPrivacy, "rounds = 3\nschedule = \"sequential\"", ""),
		"noise-aware":   planeText("unit = \"record\"\nnoise_multiplier = 0.5\ndelta = 1e-5", "rounds = 3", ""),
		"asynchronous ": planeText(noPrivacy, "rounds = 3\nschedule = \"asynchronous\"", ""),
	} {
		t.Run(name, func(t *testing.T) {
			h, parties := begun(t, Options{}, document, "north", "south", "west")
			play(t, parties...)
			status := h.mustStatus()
			if status.Phase != Ended {
				t.Fatalf("the study is %+v", status)
			}
			if name != "asynchronous " { // the entries are in the order in which answers arrive
				equalsOneProcess(t, document, parties, parties[0])
			}
		})
	}
}
