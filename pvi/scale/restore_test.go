package scale

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/memory"
	"fedpvi/internal/testing/scalestudy"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/shard"
)

// Restored machines find the same scale, and a site does not release twice.
func TestScaleRestore(t *testing.T) {
	for _, privacy := range []string{scalestudy.Record, scalestudy.Client, `unit = "none"`} {
		st := scalestudy.Parse(t, privacy, "", "min_clients = 2")
		data := []*shard.Records{ball(1, 800, 5, 1), ball(2, 800, 5, 1), ball(3, 800, 5, 1)}
		plain, saved := newScaleHouse(t, st, 1, data...), newScaleHouse(t, st, 1, data...)
		want := plain.play()
		restart := func() {
			t.Helper()
			state, err := saved.server.MarshalBinary()
			check(t, err)
			saved.server, err = RestoreServer(saved.scaling, state)
			check(t, err)
			for m := range saved.sites {
				saved.sites[m] = saved.restored(m, data[m])
			}
		}
		for !saved.server.Done() {
			restart()
			plan, _ := saved.server.Next()
			var outcome *Outcome
			for m := range saved.sites {
				r := saved.propose(m, &plan)
				restart()
				var refused *phase.Refused
				if err := saved.sites[m].Propose(new(Release), &plan, seeded.Stream(1, "again")); !errors.As(err, &refused) {
					t.Errorf("a restored client answers again: %v", err)
				}
				var err error
				outcome, err = saved.server.Collect(r)
				check(t, err)
			}
			saved.settle(outcome)
		}
		got, err := saved.server.Scaled()
		if err != nil || !slices.Equal(got.Scales(), want.Scales()) {
			t.Errorf("after restarts the scale is %v, want %v, %v", got.Scales(), want.Scales(), err)
		}
	}
}

func TestScaleRestoreErrors(t *testing.T) {
	st := scalestudy.Parse(t, scalestudy.Record, "", "min_clients = 2")
	h := newScaleHouse(t, st, 1, ball(1, 3000, 5, 1), ball(2, 3000, 5, 1))
	h.pass()
	plan, _ := h.server.Next()
	_, err := h.server.Collect(h.propose(0, &plan))
	check(t, err)
	server, err := h.server.MarshalBinary()
	check(t, err)
	site, err := h.sites[0].MarshalBinary()
	check(t, err)
	other := newScaleHouse(t, scalestudy.Parse(t, scalestudy.Record, "rounds = 5", "min_clients = 2"), 1, ball(1, 30, 5, 1), ball(2, 30, 5, 1))
	if _, err := RestoreServer(other.scaling, server); err == nil {
		t.Error("a server takes up the state of another scaling")
	}
	if err := other.sites[0].Restore(site); err == nil {
		t.Error("a site takes up the state of another scaling")
	}
	if err := h.sites[1].Restore(site); err == nil || !strings.Contains(err.Error(), `of client "c00"`) {
		t.Errorf("a client takes up another's state: %v", err)
	}
	for _, edit := range [][2]string{
		{`"Version":1`, `"Version":2`},
		{`"Passes":1`, `"Passes":4`},
		{`"Passes":1`, `"Passes":3`},
		{`"Answered":["c00"]`, `"Answered":["c09"]`},
		{`"column":"x"`, `"column":"z"`},
		{`"high":`, `"high":1`},
		{`"Sum":[`, `"Sum":[1,`},
		{`"Columns":[{`, `"Columns":[{},{`},
		{`"Open":{`, `"Open":{"More":1,`},
	} {
		if !strings.Contains(string(server), edit[0]) {
			t.Fatalf("the state has no %s", edit[0])
		}
		if _, err := RestoreServer(h.scaling, []byte(strings.Replace(string(server), edit[0], edit[1], 1))); err == nil {
			t.Errorf("a server with %s is taken up", edit[1])
		}
	}
	for _, edit := range [][2]string{
		{`"Version":1`, `"Version":2`},
		{`"Answered":2`, `"Answered":3`},
		{`"Answered":2`, `"Answered":-1`},
		{`"Passes":1`, `"Passes":-1`},
		{`"low":`, `"low":-9`},
	} {
		if !strings.Contains(string(site), edit[0]) {
			t.Fatalf("the state has no %s", edit[0])
		}
		fresh := newScaleHouse(t, st, 1, ball(1, 30, 5, 1), ball(2, 30, 5, 1)).sites[0]
		if err := fresh.Restore([]byte(strings.Replace(string(site), edit[0], edit[1], 1))); err == nil {
			t.Errorf("a site with %s is taken up", edit[1])
		}
	}
}

func FuzzScaleState(f *testing.F) {
	st := scalestudy.Parse(f, scalestudy.Record, "", "min_clients = 2")
	h := newScaleHouse(f, st, 1, ball(1, 30, 5, 1), ball(2, 30, 5, 1))
	h.pass()
	server, err := h.server.MarshalBinary()
	check(f, err)
	site, err := h.sites[0].MarshalBinary()
	check(f, err)
	f.Add(server, site)
	f.Add([]byte(`{"Version":1,"Open":{}}`), []byte(`{}`))
	f.Add(long(`{"Version":1,"Open":{"Sum":[`, "0", "]}}"), long(`{"Version":1,"Columns":[`, "{}", "]}"))
	restore := func(t testing.TB, ofServer, ofSite []byte) (s *Server, fresh *Site, serverFails, siteFails error) {
		s, serverFails = RestoreServer(h.scaling, ofServer)
		fresh, err := NewSite(h.scaling, "c00", ball(1, 5, 5, 1))
		check(t, err)
		return s, fresh, serverFails, fresh.Restore(ofSite)
	}
	fixed := memory.Allocated(func() { restore(f, server, site) })
	f.Fuzz(func(t *testing.T, server, site []byte) {
		memory.Beside(t, fixed, len(server)+len(site), func() { restore(t, server, site) })
		s, fresh, err, siteFails := restore(t, server, site)
		if err == nil {
			s.Next()
			s.Close()
			if s.Done() {
				if _, err := s.Scaled(); err != nil {
					t.Errorf("a restored server has no scale: %v", err)
				}
			}
		}
		if siteFails == nil {
			plan := Plan{h.scaling.digest, fresh.scale.passes + 1, fresh.scale.bounds()}
			fresh.Propose(new(Release), &plan, seeded.Stream(1, "fuzz"))
		}
	})
}

// long returns before, about 40,000 copies of each with commas, and after.
func long(before, each, after string) []byte {
	return []byte(before + strings.Repeat(each+",", 40_000) + each + after)
}
