package pvi

import (
	"errors"
	"math"
	"slices"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/lastround"
)

// A client refuses an impossible outcome of the last round. It also refuses an outcome that counts
// an answer of its own that it never gave.
func TestOneStepSettle(t *testing.T) {
	h := defaultHouse(t, oneStepProtocol(t))
	_, sites, o := h.last(t, 1)
	check(t, sites[0].Settle(o))
	void := &lastround.Outcome{Round: o.Round, Verdict: Void, Point: o.Point, Participants: o.Participants[:1]}
	if err := sites[0].Settle(void); err != nil {
		t.Errorf("a void round: %v", err)
	}
	for what, edit := range map[string]func(*lastround.Outcome){
		"another round":          func(o *lastround.Outcome) { o.Round[0]++ },
		"a stranger":             func(o *lastround.Outcome) { o.Participants = []ClientID{clientID(0), "stranger"} },
		"out of order":           func(o *lastround.Outcome) { o.Participants = []ClientID{clientID(1), clientID(0)} },
		"too few":                func(o *lastround.Outcome) { o.Participants = o.Participants[:1] },
		"another point":          func(o *lastround.Outcome) { o.Point = slices.Clone(o.Point); o.Point[0] += 1 },
		"a void round with sums": func(o *lastround.Outcome) { o.Verdict = Void },
		"a void round with one":  func(o *lastround.Outcome) { o.Verdict, o.Gradient = Void, nil },
		"another verdict":        func(o *lastround.Outcome) { o.Verdict = Rejected },
		"a short gradient":       func(o *lastround.Outcome) { o.Gradient = o.Gradient[1:] },
		"no curvature":           func(o *lastround.Outcome) { o.Curvature = nil },
		"a curvature beyond noise": func(o *lastround.Outcome) {
			o.Curvature = slices.Clone(o.Curvature)
			o.Curvature[0] = math.MinInt64
		},
	} {
		bad := *o
		edit(&bad)
		var r *Refused
		if err := sites[0].Settle(&bad); !errors.As(err, &r) {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	silent, err := h.sites[0].LastRound(h.shards[0])
	check(t, err)
	var r *Refused
	if err := silent.Settle(o); !errors.As(err, &r) {
		t.Errorf("an answer that was not given: %v, want a refusal", err)
	}
	without := *o
	without.Verdict, without.Gradient, without.Curvature, without.Participants = Void, nil, nil, o.Participants[1:]
	if err := silent.Settle(&without); err != nil {
		t.Errorf("a round without it: %v", err)
	}
}

// Check returns the same error as Propose, and leaves the site as it is.
func TestCheckIsWhatProposeSays(t *testing.T) {
	h := newHouse(t, planeStudy(t, clientPrivacy, "", ""), 2, 1)
	plan, _ := h.server.Next()
	other := plan
	other.Number = 2
	for range 2 {
		check(t, h.sites[0].Check(&plan))
	}
	var r Release
	a, b := h.sites[0].Check(&other), h.sites[0].Propose(&r, &other, seeded.Stream(1, "check"))
	if a != nil || b != nil {
		t.Fatalf("a later plan at the same λ: %v, %v", a, b)
	}
	if a, b = h.sites[0].Check(&plan), h.sites[0].Propose(&r, &plan, seeded.Stream(1, "check")); a == nil || b == nil || a.Error() != b.Error() {
		t.Errorf("%v and %v", a, b)
	}
	if w := h.server.WaitingFor(1); !slices.Equal(w, []ClientID{"c00", "c01"}) || h.server.WaitingFor(2) != nil {
		t.Errorf("waiting for %v, and for %v", w, h.server.WaitingFor(2))
	}
}
