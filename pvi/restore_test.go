package pvi

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fedpvi/internal/testing/memory"
	"fedpvi/pvi/method"
)

// Restore refuses states that no site of this protocol can reach.
func TestRestoreErrors(t *testing.T) {
	type edits map[string]any
	for _, c := range []struct {
		name, privacy, inference string
		edits                    edits
		want                     string
	}{
		{"released and not charged", recordPrivacy, "", edits{"Spent": method.Spent{}}, "nothing was charged"},
		{"charged and lost", recordPrivacy, "", edits{"Solver": nil}, "statistics were charged but are missing"},
		{"charged too often", recordPrivacy, "", edits{"Spent": method.Spent{Statistics: 2}}, "more than the study pays for"},
		{"changes not charged", clientPrivacy, "", edits{"Spent": method.Spent{}}, "nothing was charged"},
		{"more changes than answers", clientPrivacy, "", edits{"Answered": 1}, "more than the study pays for"},
		{"negative charge", clientPrivacy, "", edits{"Spent": method.Spent{Changes: -1}}, "more than the study pays for, or none"},
		{"changes without privacy", noPrivacy, "", edits{"Spent": method.Spent{Changes: 1}}, "more than the study pays for"},
		{"another protocol", clientPrivacy, "", edits{"Protocol": Digest{}}, "another study, or other clients"},
		{"another version", clientPrivacy, "", edits{"Version": 9}, "has version 9"},
		{"another client", clientPrivacy, "", edits{"Client": "c01"}, `the state is of client "c01"`},
		{"short λ", clientPrivacy, "", edits{"Lambda": []Wide{}}, "λ has 0 elements, want 5"},
		{"improper λ", clientPrivacy, "", edits{"Lambda": slices.Repeat([]Wide{{Hi: -1}}, 5)}, "λ is not a proper distribution"},
		{"no factor", clientPrivacy, "factors = \"exact\"\ndamping = 0.1", edits{"Factor": nil}, "elements of the factor"},
		{"open plan not answered", clientPrivacy, "", edits{"Open": 3}, "open plan"},
		{"unknown field", clientPrivacy, "", edits{"Extra": 1}, "unknown field"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, planeStudy(t, c.privacy, c.inference, ""), 3, 1)
			for range 2 {
				plan, _ := h.server.Next()
				h.settle(h.answered(&plan))
			}
			good := saved(t, h.sites[0])
			check(t, h.newSite(0).Restore(good))
			var fields map[string]any
			check(t, json.Unmarshal(good, &fields))
			for name, value := range c.edits {
				fields[name] = value
			}
			bad, err := json.Marshal(fields)
			check(t, err)
			if err := h.newSite(0).Restore(bad); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want an error with %q", err, c.want)
			}
		})
	}
	// A client's share of the noise depends on the number of clients, so a site does not accept a
	// state from another roster.
	st := planeStudy(t, clientPrivacy, "", "")
	few, many := newHouse(t, st, 4, 1), newHouse(t, st, 16, 1)
	if err := few.sites[0].Restore(saved(t, many.sites[0])); err == nil {
		t.Error("a state of sixteen clients is taken up among four")
	}
}

// refusesStates applies each edit to the state of the first site. Restore must refuse the result
// with an error that contains the key.
func (h *house) refusesStates(edits map[string]func(v *siteState)) {
	h.t.Helper()
	good := saved(h.t, h.sites[0])
	for says, edit := range edits {
		var v siteState
		check(h.t, json.Unmarshal(good, &v))
		edit(&v)
		bad, err := json.Marshal(v)
		check(h.t, err)
		if err := h.newSite(0).Restore(bad); err == nil || !strings.Contains(err.Error(), says) {
			h.t.Errorf("%v, want an error with %q", err, says)
		}
	}
}

func TestNewProtocolErrors(t *testing.T) {
	st := planeStudy(t, clientPrivacy, "", "min_clients = 3\ncolluders = 2")
	for _, c := range []struct {
		roster []ClientID
		want   string
	}{
		{[]ClientID{"a", "b"}, "the roster has 2 clients, fewer than federation.min_clients = 3"},
		{[]ClientID{"a", "b", "a"}, `names client "a" twice`},
		{[]ClientID{"a", "", "b"}, "without a name"},
	} {
		if _, err := NewProtocol(st, c.roster); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("roster %q: %v, want an error with %q", c.roster, err, c.want)
		}
	}
	all := planeStudy(t, clientPrivacy, "", "colluders = 2")
	if _, err := NewProtocol(all, []ClientID{"a", "b"}); err == nil || !strings.Contains(err.Error(), "would know every noise share") {
		t.Errorf("two colluders among two clients: %v", err)
	}
}

// long joins before, about 40,000 comma-separated copies of each, and after.
func long(before, each, after string) []byte {
	return []byte(before + strings.Repeat(each+",", 40_000) + each + after)
}

func FuzzRestore(f *testing.F) {
	st := planeStudy(f, clientPrivacy, "factors = \"exact\"\ndamping = 0.3", "min_clients = 3")
	h := newHouse(f, st, 4, 1)
	plan, _ := h.server.Next()
	for m := range 3 {
		if _, err := h.server.Collect(h.propose(m, &plan)); err != nil {
			f.Fatal(err)
		}
	}
	f.Add([]byte(`{"Version":1}`))
	f.Add(long(`{"Version":1,"Asked":[`, "0", "]}"))
	f.Add(long(`{"Version":1,"Lambda":[`, `""`, "]}"))
	f.Add(long(`{"Version":1,"Open":{"1":{"Sum":[`, "0", "]}}}"))
	f.Add(long(`{"Version":1,"Open":{"1":{"Answered":[`, `""`, "]}}}"))
	f.Add(long(`{"Version":1,"Factor":[`, `""`, "]}"))
	f.Add(long(`{"Version":1,"Open":{`, `"1":null`, "}}"))
	fuzzRestore(f, h, func(t *testing.T, s *Site, _ []byte) {
		saved(t, s)
	})
}

// fuzzRestore restores the server and the first site of h from arbitrary bytes, with limited
// memory. A restored server must be able to continue. A restored site is passed to restored.
func fuzzRestore(f *testing.F, h *house, restored func(t *testing.T, s *Site, state []byte)) {
	server, _ := h.server.MarshalBinary()
	site, _ := h.sites[0].MarshalBinary()
	f.Add(server)
	f.Add(site)
	restore := func(t testing.TB, ofServer, ofSite []byte) (s *Server, site *Site, serverFails, siteFails error) {
		h.t = t
		s, serverFails = RestoreServer(h.protocol, ofServer)
		site = h.newSite(0)
		return s, site, serverFails, site.Restore(ofSite)
	}
	fixed := memory.Allocated(func() { restore(f, server, site) })
	f.Fuzz(func(t *testing.T, state []byte) {
		memory.Beside(t, fixed, len(state), func() { restore(t, state, state) })
		s, site, err, siteFails := restore(t, state, state)
		if err == nil {
			s.Next()
			for _, n := range s.Open() {
				_, err := s.Close(n)
				check(t, err)
			}
		}
		if siteFails == nil {
			restored(t, site, state)
		}
	})
}
