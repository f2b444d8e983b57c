package pvi

import (
	"errors"
	"math"
	"slices"
	"testing"

	"fedpvi/dpmech/seeded"
)

// A client answers once, at the point that it knows; the server counts each answer once.
func TestOneStepRefusals(t *testing.T) {
	p := oneStepProtocol(t)
	h := defaultHouse(t, p)
	early := NewServer(p)
	if _, err := NewOneStepServer(early); err == nil {
		t.Error("the last round began before the others were over")
	}
	fresh, err := NewSolverSite(p, "a", h.sites[0].solver)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewOneStepSite(fresh, h.shards[0]); err == nil {
		t.Error("a site entered the last round before the others were over")
	}
	server, err := NewOneStepServer(h.server)
	if err != nil {
		t.Fatal(err)
	}
	site, err := NewOneStepSite(h.sites[0], h.shards[0])
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		var r *Refused
		if !errors.As(err, &r) {
			t.Errorf("%s: %v", what, err)
		}
	}
	src := seeded.Stream(1, "last")
	var r OneStepRelease
	_, err = server.Collect(&OneStepRelease{Round: server.digest, Client: "a"})
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
		t.Error("what was refused is charged")
	}
	if err := site.Propose(&r, &plan, src); err != nil || site.Releases() != 1 {
		t.Fatalf("%v, %d releases", err, site.Releases())
	}
	refused("a second answer", site.Propose(new(OneStepRelease), &plan, src))
	for what, edit := range map[string]func(*OneStepRelease){
		"another round":    func(r *OneStepRelease) { r.Round[0]++ },
		"a stranger":       func(r *OneStepRelease) { r.Client = "c" },
		"a short gradient": func(r *OneStepRelease) { r.Gradient = r.Gradient[1:] },
		"a short curvature": func(r *OneStepRelease) {
			r.Curvature = r.Curvature[1:]
		},
		"too large a gradient": func(r *OneStepRelease) {
			r.Gradient = slices.Clone(r.Gradient)
			r.Gradient[0] = math.MinInt64
		},
		"too large a curvature": func(r *OneStepRelease) {
			r.Curvature = slices.Clone(r.Curvature)
			r.Curvature[2] = math.MaxInt64
		},
	} {
		bad := r
		edit(&bad)
		_, err := server.Collect(&bad)
		refused(what, err)
	}
	if _, err := server.Collect(&r); err != nil {
		t.Fatal(err)
	}
	_, err = server.Collect(&r)
	refused("the same answer again", err)
	if w := server.Waiting(); !slices.Equal(w, []ClientID{"b"}) {
		t.Errorf("waiting for %v", w)
	}
	o, err := server.Close()
	if err != nil || o.Verdict != Void || o.Gradient != nil || o.Curvature != nil {
		t.Errorf("one answer of two: %+v, %v", o, err)
	}
	if _, _, err := p.OneStepPosterior(o); err == nil {
		t.Error("a posterior of a void round")
	}
	_, err = server.Close()
	refused("closing twice", err)
}

// The charge stands before the records are looked at, also where the answer fails.
func TestOneStepIsChargedFirst(t *testing.T) {
	p := oneStepProtocol(t, set("federation.max_records", "250"))
	h := defaultHouse(t, p)
	site, err := NewOneStepSite(h.sites[0], h.shards[0])
	if err != nil {
		t.Fatal(err)
	}
	site.records = p.model.Regression(oneStepShard(p, 0, 251)) // more than the mechanism takes
	var r OneStepRelease
	if err := site.Propose(&r, &OneStepPlan{site.digest, site.point}, seeded.Stream(1, "last")); err == nil {
		t.Fatal("too many records were released")
	}
	if site.Releases() != 1 || r.Gradient != nil || r.Curvature != nil {
		t.Errorf("%d releases charged, release %+v", site.Releases(), r)
	}
	if _, err := NewOneStepSite(h.sites[0], oneStepShard(p, 0, 251)); err == nil {
		t.Error("a shard with too many records entered the last round")
	}
}

// Machines that are killed and restored between any two messages go on to the same bits,
// and a site that has answered stays so.
func TestOneStepRestored(t *testing.T) {
	p := oneStepProtocol(t)
	h := defaultHouse(t, p)
	_, _, want := h.last(t, 4)
	server, _ := NewOneStepServer(h.server)
	plan, _ := server.Next()
	var outcome *OneStepOutcome
	for m, s := range h.sites {
		site, err := NewOneStepSite(s, h.shards[m])
		if err != nil {
			t.Fatal(err)
		}
		var r OneStepRelease
		for answers := range 2 {
			state, err := site.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if site, err = NewOneStepSite(s, h.shards[m]); err != nil {
				t.Fatal(err)
			}
			if err := site.Restore(state); err != nil {
				t.Fatal(err)
			}
			if site.Releases() != answers {
				t.Fatalf("a restored site has released %d times, want %d", site.Releases(), answers)
			}
			if answers == 0 {
				if err := site.Propose(&r, &plan, seeded.Stream(4, "last", uint64(m))); err != nil {
					t.Fatal(err)
				}
			} else if err := site.Propose(new(OneStepRelease), &plan, seeded.Stream(5, "last")); err == nil {
				t.Error("a restored site answered twice")
			}
		}
		state, err := server.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		server, _ = NewOneStepServer(h.server)
		if err := server.Restore(state); err != nil {
			t.Fatal(err)
		}
		if outcome, err = server.Collect(&r); err != nil {
			t.Fatal(err)
		}
	}
	if outcome == nil || !slices.Equal(outcome.Gradient, want.Gradient) || !slices.Equal(outcome.Curvature, want.Curvature) {
		t.Error("restored machines came to another outcome")
	}
	site, _ := NewOneStepSite(h.sites[0], h.shards[0])
	other, _ := NewOneStepSite(h.sites[1], h.shards[1])
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
