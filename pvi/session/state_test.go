package session

import (
	"encoding/json"
	"testing"

	"fedpvi/pvi"
)

// The test makes states in which the numbers of plans in the first section contradict the sections
// of the phases.
func TestStateGoesTogether(t *testing.T) {
	st := planeStudy(t, noPrivacy, "schedule = \"asynchronous\"\ndamping = 0.5", "")
	h := newHouse(t, st, 3)
	h.next()
	h.send(2)
	next := h.next() // this is the second plan for client 2
	site, server := state(t, h.sites[0]), state(t, h.server)
	if len(h.sites[0].queue) != 1 {
		t.Fatal("nothing waits")
	}
	restoreSite := func(b []byte) error {
		_, err := RestoreSite(st, h.roster, h.roster[0], h.records[0], b)
		return err
	}
	restoreServer := func(b []byte) error {
		_, err := RestoreServer(st, h.roster, b)
		return err
	}
	check(t, restoreSite(edited(t, site, func(*siteState) {})))
	check(t, restoreServer(edited(t, server, func(*serverState) {})))
	for what, edit := range map[string]func(*siteState){
		"a plan that asks another":      func(v *siteState) { v.Pending = &next },
		"a plan that ended":             func(v *siteState) { v.Pending.Plan = 3 },
		"an outcome to be answered":     func(v *siteState) { v.Pending.Kind = Outcome },
		"an open plan forgotten":        func(v *siteState) { v.Open = v.Open[1:] },
		"an open plan too many":         func(v *siteState) { v.Open = []int{1, 2, 3, 4} },
		"open plans out of order":       func(v *siteState) { v.Open[0], v.Open[1] = v.Open[1], v.Open[0] },
		"more asked than there are":     func(v *siteState) { v.Planned = 100 },
		"an outcome that does not wait": func(v *siteState) { v.Queue = nil },
		"an outcome that waits twice":   func(v *siteState) { v.Queue = append(v.Queue, v.Queue[0]) },
		"a last round's outcome":        func(v *siteState) { v.Ending = []byte{1} },
		"another client":                func(v *siteState) { v.Client = "c01" },
		"another study":                 func(v *siteState) { v.Study[0]++ },
	} {
		if restoreSite(edited(t, site, edit)) == nil {
			t.Errorf("%s: a site was restored", what)
		}
	}
	for what, edit := range map[string]func(*serverState){
		"a plan that ended is open": func(v *serverState) { v.Models[3] = v.Models[1]; delete(v.Models, 1) },
		"an open plan forgotten":    func(v *serverState) { delete(v.Models, 1) },
		"an open plan that is none": func(v *serverState) { v.Models[0] = v.Models[1]; delete(v.Models, 1) },
		"a hash that is none":       func(v *serverState) { v.Models[1] = v.Models[1][1:] },
		"more ended than have":      func(v *serverState) { v.Closed++; v.Planned++ },
		"fewer asked than ended":    func(v *serverState) { v.Planned, v.Closed, v.Models = -1, -1, nil },
		"a last round's outcome":    func(v *serverState) { v.Ending = []byte{1} },
		"another study":             func(v *serverState) { v.Study[0]++ },
	} {
		if restoreServer(edited(t, server, edit)) == nil {
			t.Errorf("%s: a server was restored", what)
		}
	}
}

// edited returns a copy of a saved state after applying edit to its first section.
func edited[V any](t *testing.T, b []byte, edit func(*V)) []byte {
	t.Helper()
	var parts sections
	v := new(V)
	check(t, parts.unmarshal(b))
	check(t, parts.readOwn(v, 1000, 1000))
	edit(v)
	var err error
	parts[ownSection], err = json.Marshal(v)
	check(t, err)
	return parts.marshal()
}

// A message for one plan that contains a release for another is refused. The server still waits for
// the client.
func TestAnswerToAnotherPlan(t *testing.T) {
	h := newHouse(t, planeStudy(t, noPrivacy, "schedule = \"asynchronous\"\ndamping = 0.5", ""), 2)
	h.next()
	a := h.answer(0)
	refused(t, "an answer to plan 1 for plan 2", "another plan than its envelope names", h.server, func() error {
		_, err := h.server.Collect(h.roster[0], 2, a.Release)
		return err
	})
	if w := h.server.Waiting(1); len(w) != 1 || w[0] != pvi.ClientID("c00") {
		t.Errorf("plan 1 waits for %v", w)
	}
}
