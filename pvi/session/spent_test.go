package session

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

// fourRounds sets the number of rounds to four, the minimum for a study that releases scores.
var fourRounds = []study.Override{{Key: "inference.rounds", Value: "4"}}

var charged = []struct {
	name, privacy, inference, federation string
	overrides                            []study.Override
	charges                              int // number of answers of a client that cost privacy
}{
	{"nothing", noPrivacy, "", "", nil, 0},
	{"nothing, with a scale", noPrivacy, "", "", scaled, 0},
	{"clients", clientPrivacy, "", "min_clients = 3\ncolluders = 1", nil, 3},
	{"clients, replaced", clientPrivacy + "\nadjacency = \"replace-one\"", "", "", nil, 3},
	{"clients, scores", "unit = \"client\"\nnoise_multiplier = 0.5\ndelta = 1e-5", "solver = \"scoring\"", "nominal_records = 20\nmin_clients = 3\ncolluders = 1", nil, 3},
	{"clients, scores and a scale", "unit = \"client\"\nnoise_multiplier = 0.5\ndelta = 1e-5", "solver = \"scoring\"", "nominal_records = 20", scaledPrivately, 4},
	{"scores", recordPrivacy, "solver = \"scoring\"", "nominal_records = 20", fourRounds, 4},
	{"scores and a scale, summed and replaced", recordPrivacy + "\nadjacency = \"replace-one\"", "solver = \"scoring\"", "nominal_records = 20\nopens = \"sums\"\nmin_clients = 3\ncolluders = 1", append(slices.Clip(fourRounds), scaledPrivately...), 5},
	{"statistics, once", recordPrivacy, "", "", nil, 1},
	{"statistics, asynchronous", recordPrivacy, `schedule = "asynchronous"`, "", nil, 1},
	{"statistics, published", recordPrivacy, "factors = \"published\"\ndamping = 0.2", "", nil, 3},
	{"parts", recordPrivacy, "solver = \"conjugate\"\npartitions = 4\npartitioned = \"virtual\"\nfactors = \"exact\"", "nominal_records = 40", nil, 3},
	{"steps", recordPrivacy, steps, "", nil, 3},
	{"steps from statistics", recordPrivacy, steps + "\nstart = \"analytical\"\nstart_share = 0.2", "", nil, 3},
	{"steps, a scale and a last round", recordPrivacy, steps + "\nnoise_aware = \"one-step\"", "", scaledPrivately, 5},
	{"summed", recordPrivacy, strings.Replace(steps, "steps = 4\n", "", 1), "opens = \"sums\"\nmin_clients = 2\ncolluders = 1", nil, 3},
}

// For each observer and adjacency, all charges of a client together equal the cost that the study
// announces, and each charge equals its quote.
func TestSpentIsTheWhole(t *testing.T) {
	for _, c := range charged {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, planeStudy(t, c.privacy, c.inference, c.federation, c.overrides...), 3)
			var spent []Spent
			for !h.server.Done() {
				h.next()
				for m, site := range h.sites {
					if _, ok := site.Pending(); !ok {
						continue
					}
					quote, err := site.Quote()
					check(t, err)
					a := h.send(m)
					if !reflect.DeepEqual(a.Spent, quote) {
						t.Errorf("%v was spent, %v was quoted", a.Spent, quote)
					}
					if m == 0 && len(a.Spent) > 0 {
						spent = append(spent, a.Spent)
					}
				}
			}
			if len(spent) != c.charges {
				t.Errorf("%d answers were charged, want %d", len(spent), c.charges)
			}
			compareWithWhole(t, h, spent)
		})
	}
}

func compareWithWhole(t *testing.T, h *house, spent []Spent) {
	t.Helper()
	p := h.server.course.protocol
	costs, err := Costs(h.study, h.roster)
	check(t, err)
	if want := len(p.Views()) * len(p.Adjacencies()); len(costs) != want {
		t.Fatalf("%d costs, want %d", len(costs), want)
	}
	for _, cost := range costs {
		whole, err := p.Event(cost.View, cost.Adjacency, p.Releases())
		check(t, err)
		var sum accountant.Composed
		for _, s := range spent {
			if e := eventFor(s, cost.View.Name, cost.Adjacency); e != nil {
				sum = append(sum, e)
			}
		}
		got, want := divergence(t, sum), divergence(t, whole)
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s under %s: releases add up to a divergence of %g, the whole has %g", cost.View.Name, cost.Adjacency, got, want)
		}
	}
}

// divergence identifies an event by the sum of its Rényi divergences of orders 1.5 and 8. The
// divergence of a composition is the sum over its parts.
func divergence(t *testing.T, e accountant.Event) float64 {
	t.Helper()
	var sum float64
	for _, order := range []float64{1.5, 8} {
		r, err := accountant.Renyi(e, order)
		check(t, err)
		sum += r
	}
	return sum
}

// A client that misses rounds pays only for its own releases. With its first answer in the scale
// phase, it pays for all passes.
func TestMissedRoundsCostNothing(t *testing.T) {
	st := planeStudy(t, recordPrivacy, steps, "min_clients = 2", scaledPrivately...)
	h := newHouse(t, st, 3)
	h.next()
	h.send(0)
	h.send(1)
	h.close(1)
	h.next()
	first := h.send(2)
	view, own := h.server.course.public.Views()[0], st.Privacy.Adjacency
	got := divergence(t, eventFor(first.Spent, view.Name, own))
	if want := divergence(t, h.server.course.phases[0].(*scalePhase).scaling.EventFor(view.Shares, own)); got != want {
		t.Errorf("the first answer costs %g, all passes %g", got, want)
	}
	h.send(0)
	h.send(1)
	if a := h.round(); len(a) != 3 || a[2].Spent != nil {
		t.Errorf("another pass was charged: %v", a)
	}
	if eventFor(first.Spent, "nobody", own) != nil {
		t.Error("somebody unknown is charged for")
	}
}

// If an answer fails after noise was drawn, the client pays for it and does not repeat it. It goes
// on with the study, even after a restart.
func TestFailedAnswerIsCharged(t *testing.T) {
	st := planeStudy(t, recordPrivacy, steps+"\noptimiser = \"sgd\"\nstep_size = 1e300", "")
	h := newHouse(t, st, 2)
	h.next()
	site := h.sites[0]
	quote, err := site.Quote()
	check(t, err)
	a, err := site.Answer(seeded.Stream(1, "fails"))
	if err == nil || a.Release != nil || len(a.Spent) == 0 {
		t.Fatalf("%+v, %v: want an error and a charge", a, err)
	}
	view, own := h.server.course.public.Views()[0], st.Privacy.Adjacency
	step := divergence(t, eventFor(quote, view.Name, own)) / 4 // the quote covers four steps
	if got, want := divergence(t, eventFor(a.Spent, view.Name, own)), float64(site.Releases())*step; site.Releases() < 1 || math.Abs(got-want) > 1e-9*want {
		t.Errorf("%d releases are charged with %g, want %g", site.Releases(), got, want)
	}
	again := h.restored(0)
	for _, s := range []*Site{site, again} {
		if _, ok := s.Pending(); ok {
			t.Error("the plan is still to be answered")
		}
		refused(t, "a second answer", "no plan names this client", s, func() error { _, err := s.Answer(seeded.Stream(1, "again")); return err })
	}
	h.sites[0] = again
	h.close(1)
	h.next()
	if quote, err := again.Quote(); err != nil || len(quote) == 0 {
		t.Errorf("the next plan costs %v, %v", quote, err)
	}
}

// eventFor returns the event in the charge for an observer and an adjacency, or nil if there is no
// such charge.
func eventFor(s Spent, view string, adjacency accountant.Adjacency) accountant.Event {
	for _, c := range s {
		if c.View.Name == view && c.Adjacency == adjacency {
			return c.Event
		}
	}
	return nil
}

// Strongest returns the charge for the coordinator if view says so, and otherwise the charge for
// the untrusted observer to whom the fewest noise shares are unknown.
func TestStrongestObserver(t *testing.T) {
	charge := func(name string, shares int, adjacency accountant.Adjacency) Charge {
		return Charge{View: method.View{Name: name, Shares: shares}, Adjacency: adjacency}
	}
	const own, other = accountant.ZeroOut, accountant.ReplaceOne
	s := Spent{
		charge(method.Coalition, 3, own), charge(method.Participant, 4, own), charge(method.Outsider, 5, own), charge(method.Coordinator, 1, own),
		charge(method.Outsider, 2, other),
	}
	for _, c := range []struct {
		view      string
		adjacency accountant.Adjacency
		want      string
	}{
		{method.Coordinator, own, method.Coordinator},
		{method.Coalition, own, method.Coalition},
		{method.Participant, own, method.Coalition},
		{method.Outsider, own, method.Coalition}, // earlier versions of the program wrote this observer in approvals
		{method.Outsider, other, method.Outsider},
		{method.Coordinator, other, ""},
		{method.Anyone, own, ""},
		{method.Outsider, accountant.AddRemove, ""},
	} {
		if got, ok := s.Strongest(c.view, c.adjacency); got.View.Name != c.want || ok != (c.want != "") {
			t.Errorf("%s under %s: %q, %v; want %q", c.view, c.adjacency, got.View.Name, ok, c.want)
		}
	}
}
