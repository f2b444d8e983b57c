package session

import (
	"bytes"
	"encoding"
	"errors"
	"slices"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/memory"
	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// everyPhase returns a study with a scale phase, gradient steps and a last round.
func everyPhase(t testing.TB) *study.Study {
	t.Helper()
	return planeStudy(t, recordPrivacy, steps+"\nnoise_aware = \"one-step\"", "", scaledPrivately...)
}

// along runs a study with two clients. For each plan it calls look with the answer of client 0,
// before client 1 answers.
func along(t testing.TB, st *study.Study, look func(h *house, plan Entry, a Answer)) {
	h := newHouse(t, st, 2)
	for !h.server.Done() {
		plan := h.next()
		look(h, plan, h.send(0))
		h.send(1)
	}
}

// FuzzHostile passes arbitrary bytes to servers and sites at every stage of a study. If they refuse
// the bytes, they must not have changed.
func FuzzHostile(f *testing.F) {
	st := everyPhase(f)
	type moment struct{ site, server []byte }
	var moments []moment
	var roster []pvi.ClientID
	along(f, st, func(h *house, plan Entry, a Answer) {
		roster = h.roster
		moments = append(moments, moment{state(f, h.sites[1]), state(f, h.server)})
		f.Add(len(moments)-1, string(plan.Kind), plan.Plan+1, plan.Body)
		f.Add(len(moments)-1, "release", plan.Plan, a.Release)
		clone, err := RestoreServer(st, h.roster, moments[len(moments)-1].server)
		check(f, err)
		e, err := clone.Close(plan.Plan)
		check(f, err)
		f.Add(len(moments)-1, string(e.Kind), e.Plan, e.Body)
	})
	f.Fuzz(func(t *testing.T, at int, kind string, ask int, body []byte) {
		m := moments[(at%len(moments)+len(moments))%len(moments)]
		var err error
		var before []byte
		var after encoding.BinaryMarshaler
		play := func(t testing.TB, kind string, ask int, body []byte) {
			if kind == "release" {
				server, broken := RestoreServer(st, roster, m.server)
				if broken != nil {
					t.Fatal(broken)
				}
				_, err = server.Collect(roster[1], ask, body)
				before, after = m.server, server
				return
			}
			site, broken := RestoreSite(st, roster, roster[1], planeRecords(1, 41), m.site)
			if broken != nil {
				t.Fatal(broken)
			}
			err = site.Follow(Entry{Kind(kind), ask, body})
			before, after = m.site, site
		}
		fixed := memory.Allocated(func() { play(t, kind, ask, nil) })
		memory.Beside(t, fixed, len(body), func() { play(t, kind, ask, body) })
		if err == nil {
			return
		}
		var r *pvi.Refused
		if !errors.As(err, &r) {
			t.Errorf("%v, want a refusal", err)
		}
		if !bytes.Equal(before, state(t, after)) {
			t.Error("refused, and the state is another")
		}
	})
}

// A server or site restored from a damaged state can be saved again, and does not make a release
// without charging it.
func FuzzDamagedState(f *testing.F) {
	st := everyPhase(f)
	along(f, st, func(h *house, plan Entry, a Answer) {
		f.Add(true, state(f, h.server))
		f.Add(false, state(f, h.sites[0]))
		f.Add(false, state(f, h.sites[1]))
	})
	own := sections{ownSection: append(append([]byte(`{"Models":{`), bytes.Repeat([]byte(`"1":"",`), 40_000)...), `"1":""}}`...)}
	f.Add(true, own.marshal())
	own[ownSection] = append(append([]byte(`{"Open":[`), bytes.Repeat([]byte("0,"), 100_000)...), "0]}"...)
	f.Add(false, own.marshal())
	roster := []pvi.ClientID{"c00", "c01"}
	restore := func(ofServer bool, saved []byte) {
		if ofServer {
			_, _ = RestoreServer(st, roster, saved)
		} else {
			_, _ = RestoreSite(st, roster, "c01", planeRecords(1, 41), saved)
		}
	}
	var fixed uint64 // number of bytes that restoring an undamaged state allocates, at most
	along(f, st, func(h *house, _ Entry, _ Answer) {
		server, site := state(f, h.server), state(f, h.sites[1])
		fixed = max(fixed, memory.Allocated(func() { restore(true, server) }), memory.Allocated(func() { restore(false, site) }))
	})
	f.Fuzz(func(t *testing.T, ofServer bool, saved []byte) {
		memory.Beside(t, fixed, len(saved), func() { restore(ofServer, saved) })
		if ofServer {
			if s, err := RestoreServer(st, roster, saved); err == nil {
				state(t, s)
				s.Next()
				for _, ask := range s.Open() {
					s.Close(ask)
				}
			}
			return
		}
		s, err := RestoreSite(st, roster, "c01", planeRecords(1, 41), saved)
		if err != nil {
			return
		}
		state(t, s)
		if _, ok := s.Pending(); !ok {
			return
		}
		quote, err := s.Quote()
		check(t, err)
		a, err := s.Answer(seeded.Stream(1, "damaged"))
		if err == nil && len(a.Spent) != len(quote) {
			t.Errorf("%d costs, %d were quoted", len(a.Spent), len(quote))
		}
	})
}

// Servers and sites refuse a truncated state, and a state of another study, roster, client or
// version. They also refuse a mixture of states from two different times.
func TestStateIsChecked(t *testing.T) {
	st := everyPhase(t)
	otherStudy := planeStudy(t, noPrivacy, "", "")
	var states [][2][]byte
	along(t, st, func(h *house, _ Entry, _ Answer) {
		states = append(states, [2][]byte{state(t, h.server), state(t, h.sites[1])})
	})
	roster, records := []pvi.ClientID{"c00", "c01"}, planeRecords(1, 41)
	server := func(what string, st *study.Study, roster []pvi.ClientID, b []byte) {
		t.Helper()
		if _, err := RestoreServer(st, roster, b); err == nil {
			t.Errorf("%s: a server was restored", what)
		}
	}
	site := func(what string, st *study.Study, id pvi.ClientID, b []byte) {
		t.Helper()
		if _, err := RestoreSite(st, roster, id, records, b); err == nil {
			t.Errorf("%s: a site was restored", what)
		}
	}
	for _, s := range states {
		server("another study", otherStudy, roster, s[0])
		server("another roster", st, []pvi.ClientID{"c00", "c02"}, s[0])
		site("another client", st, "c00", s[1])
		site("another study", otherStudy, "c01", s[1])
		for _, b := range [][]byte{nil, s[0][:len(s[0])-1], append(slices.Clone(s[0]), 0), flipped(s[0], 0), s[1]} {
			server("damaged", st, roster, b)
		}
		for _, b := range [][]byte{nil, s[1][:len(s[1])-1], append(slices.Clone(s[1]), 0), flipped(s[1], 0), s[0]} {
			site("damaged", st, "c01", b)
		}
	}
	// The test combines two saved states: it takes the sections of the phases from one, and the
	// section of the server or site itself from the other.
	for i := range states[1:] {
		for k := range 2 {
			var a, b sections
			check(t, errors.Join(a.unmarshal(states[i][k]), b.unmarshal(states[i+1][k])))
			a[ownSection] = b[ownSection]
			if k == 0 {
				server("of two moments", st, roster, a.marshal())
			} else {
				site("of two moments", st, "c01", a.marshal())
			}
		}
	}
}
