package pvi

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi/study"
)

// publishedStudy returns a study of version 2 in which messages are opened.
func publishedStudy(t testing.TB, overrides ...study.Override) *study.Study {
	t.Helper()
	return lineStudy(t, linestudy.Parts{
		Version: 2, Privacy: recordPrivacy, Inference: "rounds = 3\nsolver = \"clipped-analytical\"\nintervals = \"none\"",
	}, overrides...)
}

// falsified runs the first round with a cheating coordinator, who applies lie to the round before
// the last answer arrives.
func falsified(t *testing.T, lie func(*round)) (*house, *Outcome) {
	t.Helper()
	h := newHouse(t, publishedStudy(t), 3, 1)
	plan, _ := h.server.Next()
	var o *Outcome
	for m := range h.sites {
		if m == len(h.sites)-1 {
			lie(h.server.open[plan.Number])
		}
		var err error
		o, err = h.server.Collect(h.propose(m, &plan))
		check(t, err)
	}
	return h, o
}

// If a coordinator changes the sum of a round, every client and verifier refuses the outcome. If it
// also changes a release so that the releases add up again, the client that sent the release
// refuses.
//
//abuse:case A21 a coordinator that adds a constant to a sum of opened messages is refused by every client
func TestChangedSumsOfMessagesAreRefused(t *testing.T) {
	size := newHouse(t, publishedStudy(t), 3, 1).protocol.messages.Size
	for name, c := range map[string]struct {
		lie     func(*round)
		refused []bool // by client
		says    string
	}{
		"nothing":            {func(*round) {}, []bool{false, false, false}, ""},
		"a constant":         {func(r *round) { r.Sum[0] += 1000 }, []bool{true, true, true}, "is not the sum of the 3 releases"},
		"one step":           {func(r *round) { r.Sum[size-1]-- }, []bool{true, true, true}, "is not the sum of the 3 releases"},
		"a release":          {func(r *round) { r.Releases[size]++ }, []bool{true, true, true}, "is not the sum of the 3 releases"},
		"a release and sum":  {func(r *round) { r.Releases[size]++; r.Sum[0]++ }, []bool{false, true, false}, "another release of client \"c01\""},
		"two releases":       {func(r *round) { r.Releases[0]++; r.Releases[size]-- }, []bool{true, true, false}, "another release of client"},
		"releases exchanged": {func(r *round) { exchange(r.Releases[:size], r.Releases[size:][:size]) }, []bool{true, true, false}, "another release of client"},
	} {
		h, o := falsified(t, c.lie)
		for m, s := range h.sites {
			err := s.Settle(o)
			var r *Refused
			if refused := errors.As(err, &r); refused != c.refused[m] || err != nil && (!refused || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%s: client %d: %v", name, m, err)
			}
		}
		again := NewServer(h.protocol)
		again.Next()
		_, err := again.Replay(o)
		if all := !slices.Contains(c.refused, false); all != (err != nil) {
			t.Errorf("%s: computed again: %v", name, err)
		}
	}
}

// Sites refuse an outcome that lacks the release of a participant.
func TestOutcomesWithoutReleasesAreRefused(t *testing.T) {
	for _, missing := range []int{1, 5, 15} {
		h, o := falsified(t, func(*round) {})
		if o.Releases = o.Releases[:len(o.Releases)-missing]; len(o.Releases) == 0 {
			o.Releases = nil
		}
		for m, s := range h.sites {
			if err := s.Settle(o); err == nil || !strings.Contains(err.Error(), "its sum cannot be checked") {
				t.Errorf("%d elements missing: client %d: %v", missing, m, err)
			}
		}
	}
}

func exchange(a, b []int64) {
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
}

// Restored machines still check the releases in an outcome, and accept honest ones.
func TestReleasesAreKept(t *testing.T) {
	h := newHouse(t, publishedStudy(t), 3, 1)
	h.runRestarting()
	if h.server.Outcomes() != h.protocol.Plans() {
		t.Errorf("%d outcomes", h.server.Outcomes())
	}
	// A client that has lost the hash of its release refuses the outcome.
	h = newHouse(t, publishedStudy(t), 3, 1)
	plan, _ := h.server.Next()
	o := h.answered(&plan)
	h.sites[0].sent = Digest{}
	if err := h.sites[0].Settle(o); err == nil {
		t.Error("an answer is believed that is not known")
	}
}

// Outcomes contain the releases if messages are opened, except in version 1 and where they would be
// too long.
func TestWhereReleasesArePublished(t *testing.T) {
	for name, c := range map[string]struct {
		set  []study.Override
		want bool
	}{
		"messages":  {nil, true},
		"version 1": {[]study.Override{{Key: "study.version", Value: "1"}, {Key: "inference.intervals"}}, false},
		"sums":      {[]study.Override{{Key: "privacy.unit", Value: `"client"`}, {Key: "inference.solver", Value: `"conjugate"`}, {Key: "privacy.clip", Value: "1.0"}}, false},
	} {
		p, err := NewProtocol(publishedStudy(t, c.set...), []ClientID{"a", "b", "c"})
		check(t, err)
		if p.publishes() != c.want {
			t.Errorf("%s: published %v", name, !c.want)
		}
	}
}
