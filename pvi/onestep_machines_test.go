package pvi

import (
	"errors"
	"math"
	"slices"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/internal/guard"
	"fedpvi/pvi/lastround"
)

// A client answers once, and only if the plan asks about the client's own final λ. The server
// counts each answer once.
func TestOneStepRefusals(t *testing.T) {
	p := oneStepProtocol(t)
	h := defaultHouse(t, p)
	early := NewServer(p)
	if _, err := early.LastRound(); err == nil {
		t.Error("the last round began before the others were over")
	}
	fresh, err := p.NewSite(clientID(0), h.shards[0])
	check(t, err)
	if _, err := fresh.LastRound(h.shards[0]); err == nil {
		t.Error("a site entered the last round before the others were over")
	}
	server, err := h.server.LastRound()
	check(t, err)
	site, err := h.sites[0].LastRound(h.shards[0])
	check(t, err)
	refused := func(what string, err error) {
		t.Helper()
		var r *Refused
		if !errors.As(err, &r) {
			t.Errorf("%s: %v", what, err)
		}
	}
	src := seeded.Stream(1, "last")
	var r lastround.Release
	_, err = server.Collect(&lastround.Release{Round: foretold(site).Round, Client: clientID(0)})
	refused("an answer before the plan", err)
	plan, _ := server.Next()
	if _, again := server.Next(); again {
		t.Error("two plans")
	}
	other := plan
	other.Round[0]++
	refused("another round", site.Propose(&r, &other, src))
	other = plan
	other.Point = slices.Clone(plan.Point)
	other.Point[1] += 1e-9
	refused("another point", site.Propose(&r, &other, src))
	if site.Releases() != 0 {
		t.Error("a refused plan was charged")
	}
	if err := site.Propose(&r, &plan, src); err != nil || site.Releases() != 1 {
		t.Fatalf("%v, %d releases", err, site.Releases())
	}
	refused("a second answer", site.Propose(new(lastround.Release), &plan, src))
	for what, edit := range map[string]func(*lastround.Release){
		"another round":    func(r *lastround.Release) { r.Round[0]++ },
		"a stranger":       func(r *lastround.Release) { r.Client = "c" },
		"a short gradient": func(r *lastround.Release) { r.Gradient = r.Gradient[1:] },
		"a short curvature": func(r *lastround.Release) {
			r.Curvature = r.Curvature[1:]
		},
		"too large a gradient": func(r *lastround.Release) {
			r.Gradient = slices.Clone(r.Gradient)
			r.Gradient[0] = math.MinInt64
		},
		"too large a curvature": func(r *lastround.Release) {
			r.Curvature = slices.Clone(r.Curvature)
			r.Curvature[2] = math.MaxInt64
		},
	} {
		bad := r
		edit(&bad)
		_, err := server.Collect(&bad)
		refused(what, err)
	}
	_, err = server.Collect(&r)
	check(t, err)
	_, err = server.Collect(&r)
	refused("the same answer again", err)
	if w := server.Waiting(); !slices.Equal(w, []ClientID{clientID(1)}) {
		t.Errorf("waiting for %v", w)
	}
	o, err := server.Close()
	if err != nil || o.Verdict != Void || o.Gradient != nil || o.Curvature != nil {
		t.Errorf("one answer of two: %+v, %v", o, err)
	}
	if _, _, err := p.After()[0].Posterior(o, steppedOf(p).ClosedFormNoise()); err == nil {
		t.Error("a posterior of a void round")
	}
	_, err = server.Close()
	refused("closing twice", err)
}

// A release is charged before its noise is drawn, even if the answer fails after that.
func TestOneStepIsChargedFirst(t *testing.T) {
	p := oneStepProtocol(t)
	h := defaultHouse(t, p)
	site := lastround.NewSite(p.After()[0], p.startOfLast(h.sites[0].q), h.sites[0].ID(), oneStepShard(p, 0, 250), 0)
	var r lastround.Release
	if fault := guard.Run(func() { _ = site.Propose(&r, foretold(site), nil) }); fault == nil {
		t.Fatal("a release without a source of noise")
	}
	if site.Releases() != 1 || r.Gradient != nil || r.Curvature != nil {
		t.Errorf("%d releases charged, release %+v", site.Releases(), r)
	}
}

// The release of a client with more than federation.max_records still fits into a message.
func TestOneStepOfManyRecords(t *testing.T) {
	p := oneStepProtocol(t, set("federation.max_records", "250"))
	h := defaultHouse(t, p)
	site, err := h.sites[0].LastRound(oneStepShard(p, 0, 2000))
	check(t, err)
	var r lastround.Release
	check(t, site.Propose(&r, foretold(site), seeded.Stream(1, "last")))
	for _, n := range append(r.Gradient, r.Curvature...) {
		if most := p.After()[0].Limit(); n > most || n < -most {
			t.Errorf("an element of %d steps, more than %d", n, most)
		}
	}
}

// The test restores machines between any two messages. They must compute the same bits, and no site
// may answer twice.
func TestOneStepRestored(t *testing.T) {
	p := oneStepProtocol(t)
	h := defaultHouse(t, p)
	_, _, want := h.last(t, 4)
	server, _ := h.server.LastRound()
	plan, _ := server.Next()
	var outcome *lastround.Outcome
	for m, s := range h.sites {
		site, err := s.LastRound(h.shards[m])
		check(t, err)
		var r lastround.Release
		for answers := range 2 {
			state := saved(t, site)
			site, err = s.LastRound(h.shards[m])
			check(t, err)
			check(t, site.Restore(state))
			if site.Releases() != answers {
				t.Fatalf("a restored site has released %d times, want %d", site.Releases(), answers)
			}
			if answers == 0 {
				check(t, site.Propose(&r, &plan, seeded.Stream(4, "last", uint64(m))))
			} else if err := site.Propose(new(lastround.Release), &plan, seeded.Stream(5, "last")); err == nil {
				t.Error("a restored site answered twice")
			}
		}
		state := saved(t, server)
		server, _ = h.server.LastRound()
		check(t, server.Restore(state))
		outcome, err = server.Collect(&r)
		check(t, err)
	}
	if outcome == nil || !slices.Equal(outcome.Gradient, want.Gradient) || !slices.Equal(outcome.Curvature, want.Curvature) {
		t.Error("restored machines came to another outcome")
	}
	site, _ := h.sites[0].LastRound(h.shards[0])
	other, _ := h.sites[1].LastRound(h.shards[1])
	foreign, _ := other.MarshalBinary()
	for _, state := range []string{"{", "{}", string(foreign), `{"Version":1}`} {
		if err := site.Restore([]byte(state)); err == nil {
			t.Errorf("a site took up %s", state)
		}
		if err := server.Restore([]byte(state)); err == nil {
			t.Errorf("a server took up %s", state)
		}
	}
}

// If a coordinator changes a sum, all clients and verifiers refuse it. If the coordinator also
// changes a release to match, the client that sent the release refuses.
func TestOneStepChangedSumsAreRefused(t *testing.T) {
	p := oneStepProtocol(t)
	p.study.Version = 2
	for name, c := range map[string]struct {
		lie     func(o *lastround.Outcome)
		refused [2]bool
	}{
		"nothing":           {func(*lastround.Outcome) {}, [2]bool{}},
		"a sum":             {func(o *lastround.Outcome) { o.Gradient[0] += 1000 }, [2]bool{true, true}},
		"a release and sum": {func(o *lastround.Outcome) { o.Gradient[0]++; o.Releases[0]++ }, [2]bool{true, false}},
		"no releases":       {func(o *lastround.Outcome) { o.Releases = nil }, [2]bool{true, true}},
	} {
		h := defaultHouse(t, p)
		round, start := p.After()[0], p.startOfLast(h.sites[0].q)
		server := lastround.NewServer(round, start)
		plan, _ := server.Next()
		sites := []*lastround.Site{
			lastround.NewSite(round, start, h.sites[0].ID(), oneStepShard(p, 0, 150), 0),
			lastround.NewSite(round, start, h.sites[1].ID(), oneStepShard(p, 150, 400), 0),
		}
		var o *lastround.Outcome
		for m, site := range sites {
			var r lastround.Release
			err := site.Propose(&r, &plan, seeded.Stream(1, "last", uint64(m)))
			if err == nil {
				o, err = server.Collect(&r)
			}
			check(t, err)
		}
		if len(o.Releases) == 0 {
			t.Fatal("no releases are published")
		}
		c.lie(o)
		for m, site := range sites {
			if err := site.Settle(o); (err != nil) != c.refused[m] {
				t.Errorf("%s: client %d: %v", name, m, err)
			}
		}
		again := lastround.NewServer(round, start)
		again.Next()
		if _, err := again.Replay(o); (err != nil) != (c.refused == [2]bool{true, true}) {
			t.Errorf("%s: computed again: %v", name, err)
		}
	}
}
