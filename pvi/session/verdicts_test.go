package session

import (
	"strings"
	"testing"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

// An evil changes the numbers in a client's answer.
type evil func(change []int64, limit int64)

func attackedStudy(t *testing.T, overrides ...study.Override) *study.Study {
	t.Helper()
	return planeStudy(t, "unit = \"record\"\nnoise_multiplier = 3.0\ndelta = 1e-5", "solver = \"dp-svi\"\nq = \"diagonal\"\nsteps = 2\nsampling_rate = 1.0", "nominal_records = 40", append([]study.Override{
		{Key: "study.version", Value: "2"}, {Key: "inference.rounds", Value: "10"}, {Key: "inference.intervals", Value: `"none"`},
	}, overrides...)...)
}

// attacked runs a study with three clients until it is done or stalls, and returns how each round
// ended. The last client sends numbers set by e. If e is nil, it answers from a file with the given
// number of invented lines.
func attacked(t *testing.T, st *study.Study, e evil, invented int) (h *house, rounds []Round) {
	t.Helper()
	h = newHouse(t, st, 3)
	if h.sites[2] = nil; e == nil {
		h.records[2] = planeRecords(2, invented)
		h.sites[2] = h.newSite(2)
	}
	h.server.Watch()
	for !h.server.Done() && h.server.Stalled() == "" {
		plan := h.next()
		for m, site := range h.sites {
			var release []byte
			if site != nil {
				release = h.answer(m).Release
			} else {
				messages := h.server.course.protocol.Method().Messages()
				r := pvi.Release{Protocol: h.server.course.protocol.Digest(), Number: plan.Plan, Client: h.roster[m], Change: make([]int64, messages.Size)}
				e(r.Change, messages.Limit())
				release = wire.AppendRelease(nil, &r)
			}
			o, err := h.server.Collect(h.roster[m], plan.Plan, release)
			check(t, err)
			if o != nil {
				h.say(o)
			}
		}
		r, ok := h.server.Last(plan.Plan)
		if !ok {
			t.Fatal("a round without a verdict")
		}
		rounds = append(rounds, r)
	}
	return h, rounds
}

// One of three clients sends precisions far below zero in every round. After three rounds, which
// honest clients have paid for, the study stops. The reason it gives contains the client's name.
//
//abuse:case A20 a client that makes every round fail: the study stops after three, and the client is named
func TestRejectedRoundsStopTheStudy(t *testing.T) {
	lower := func(change []int64, limit int64) {
		for i := len(change) / 2; i < len(change); i++ {
			change[i] = -limit
		}
	}
	h, rounds := attacked(t, attackedStudy(t), lower, 0)
	if len(rounds) != 3 || h.server.History() != (History{Rejected: 3, InARow: 3}) {
		t.Fatalf("%d rounds, %+v", len(rounds), h.server.History())
	}
	if why := h.server.Stalled(); !strings.Contains(why, "3 rounds in a row") || !strings.Contains(why, "accepted without the answer of c02") {
		t.Errorf("the study stops because %s", why)
	}
	for _, r := range rounds {
		if b := r.Blocking(); r.Verdict != pvi.Rejected || len(b) != 1 || b[0] != "c02" {
			t.Errorf("%+v", r)
		}
	}
	for m := range 2 {
		restored := h.restored(m)
		if h.sites[m].Stalled() == "" || restored.Stalled() == "" || restored.rounds.Releases() != 6 {
			t.Errorf("client %d goes on, or has paid for %d steps", m, restored.rounds.Releases())
		}
	}
	restored, err := RestoreServer(h.study, h.roster, state(t, h.server))
	if err != nil || restored.Stalled() == "" {
		t.Errorf("a restarted server goes on: %v", err)
	}
	// The limit is too high to stop the study here, so all rounds are run, as in version 1.
	unlimited := attackedStudy(t, study.Override{Key: "federation.max_rejected", Value: "11"})
	if _, rounds := attacked(t, unlimited, lower, 0); len(rounds) != 10 {
		t.Errorf("%d rounds", len(rounds))
	}
}

// If a study needs all clients and one does not answer three times, the study stops and gives the
// client's name as the reason. A round without any answers costs nothing and does not count.
//
//abuse:case A20 a client whose answers are refused in every round: the study stops after three, and the client is named
func TestVoidRoundsStopTheStudy(t *testing.T) {
	h := newHouse(t, attackedStudy(t), 3)
	h.close(h.next().Plan)
	if got := h.server.History(); got != (History{Void: 1}) {
		t.Errorf("a round without answers: %+v", got)
	}
	for range 3 {
		plan := h.next()
		h.send(0)
		h.send(1)
		h.close(plan.Plan)
	}
	if why := h.server.Stalled(); !strings.Contains(why, "3 rounds in a row") || !strings.Contains(why, "lacked the answer of c02") {
		t.Errorf("the study stops because %q", why)
	}
	if got := h.server.History(); got != (History{Void: 4, InARow: 3}) || h.sites[0].History() != got || h.sites[0].Stalled() == "" {
		t.Errorf("the server counts %+v, a client %+v", got, h.sites[0].History())
	}
}

// One client either sends an element at its limit, or has a hundred times as many lines as the
// others, all invented. The norm of its first answer must be more than 10 times the median of the
// others, and that of an honest client less. No honest client may block a round.
//
//abuse:case A20 a client that pushes the posterior: its influence is shown where messages are opened
func TestInfluenceOfAnEvilClient(t *testing.T) {
	for name, c := range map[string]struct {
		evil     evil
		invented int
	}{
		"one element pushed": {func(change []int64, limit int64) { change[0] = limit }, 0},
		"invented lines":     {nil, 4000},
		"an honest client":   {nil, 42},
	} {
		st := planeStudy(t, "unit = \"record\"\nnoise_multiplier = 3.0\ndelta = 1e-5", "solver = \"clipped-analytical\"", "nominal_records = 40",
			study.Override{Key: "study.version", Value: "2"}, study.Override{Key: "inference.intervals", Value: `"none"`})
		_, rounds := attacked(t, st, c.evil, c.invented)
		honest := name == "an honest client"
		for _, r := range rounds[:1] {
			if len(r.Influences) != 3 {
				t.Fatalf("%s: %+v", name, r)
			}
			if r.Influences[2].Norm > 10 == honest {
				t.Errorf("%s: the norm is %.3g times the others'", name, r.Influences[2].Norm)
			}
			for _, i := range r.Influences[:2] {
				if i.Norm > 10 || i.Blocks {
					t.Errorf("%s: %+v", name, i)
				}
			}
		}
	}
}

// Influences are computed only in studies that publish releases.
func TestNoInfluenceOfHiddenMessages(t *testing.T) {
	for _, st := range []*study.Study{
		planeStudy(t, recordPrivacy, "", ""),
		planeStudy(t, clientPrivacy, "solver = \"conjugate\"", "", study.Override{Key: "study.version", Value: "2"}, study.Override{Key: "inference.intervals", Value: `"none"`}),
	} {
		_, rounds := attacked(t, st, nil, 42)
		for _, r := range rounds {
			if r.Influences != nil {
				t.Errorf("%+v", r)
			}
		}
	}
}
