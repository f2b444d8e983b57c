package session

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// At the end of a study, the server and all sites write the same bytes as their results.
func TestAllFindTheSame(t *testing.T) {
	for _, c := range []struct {
		name, privacy, inference string
		overrides                []study.Override
		asks                     int
		noiseAware               bool
	}{
		{"no promise", noPrivacy, "", nil, 3, false},
		{"records", recordPrivacy, "", nil, 3, false},
		{"clients", clientPrivacy, "", nil, 3, false},
		{"one by one", noPrivacy, "schedule = \"sequential\"\ndamping = 0.5", nil, 9, false},
		{"scale, no promise", noPrivacy, "", scaled, 6, false},
		{"scale", recordPrivacy, "", scaledPrivately, 6, false},
		{"last round", recordPrivacy, steps + "\nnoise_aware = \"one-step\"", nil, 4, true},
	} {
		h := newHouse(t, planeStudy(t, c.privacy, c.inference, "", c.overrides...), 3)
		h.finish()
		soFar, all := h.server.Plans()
		if soFar != c.asks || all != c.asks || len(h.said) != 2*c.asks {
			t.Errorf("%s: %d plans of %d, %d entries, want %d plans", c.name, soFar, all, len(h.said), c.asks)
		}
		r, err := h.server.Result()
		check(t, err)
		sameText(t, h.server, r)
		if r.Accepted == 0 || (r.NoiseAware != nil) != c.noiseAware || len(r.Mean) != 2 || len(r.SD) != 2 || (c.privacy == noPrivacy) != (len(r.Costs) == 0) {
			t.Errorf("%s: %+v", c.name, r)
		}
		want, err := r.Bytes()
		check(t, err)
		for m, site := range h.sites {
			r, err := site.Result()
			if err != nil || !site.Done() {
				t.Fatal(err)
			}
			if got, err := r.Bytes(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: client %d has another result, %v", c.name, m, err)
			}
		}
		for _, e := range h.said {
			if len(e.Body) > h.server.MaxEntry() {
				t.Errorf("%s: a %s has %d bytes, the longest %d", c.name, e.Kind, len(e.Body), h.server.MaxEntry())
			}
		}
	}
}

// Digest changes when the scale phase ends, at the same entry for the server and for all sites.
func TestDigestFollowsThePhase(t *testing.T) {
	h := newHouse(t, planeStudy(t, noPrivacy, "", "", scaled...), 2)
	scaling := h.server.Digest()
	if scaling != [32]byte(h.server.course.phases[0].(*scalePhase).scaling.Digest()) {
		t.Error("it does not begin with the scaling's")
	}
	for range 3 {
		if h.server.Digest() != scaling || h.sites[1].Digest() != scaling {
			t.Error("it changed before the scale was found")
		}
		h.round()
	}
	if h.server.Digest() == scaling || h.sites[1].Digest() != h.server.Digest() {
		t.Error("it is the same, or not the same for all, after the scale was found")
	}
	if h.server.Digest() == [32]byte(h.server.course.public.Digest()) {
		t.Error("the scale that was found is that of the public bounds: this tests nothing")
	}
	if h.sites[0].Beyond() == nil {
		t.Error("it is not said what lies beyond the scale")
	}
}

// An answer contains the hash of the state that its plan was made from.
func TestModel(t *testing.T) {
	h := newHouse(t, planeStudy(t, noPrivacy, "schedule = \"asynchronous\"\ndamping = 0.5", ""), 3)
	h.next()
	first, _ := h.server.ModelOf(1)
	if first != h.server.Model() {
		t.Error("the first plan is of another state than the study's")
	}
	h.send(2)
	if model, ok := h.server.ModelOf(1); !ok || model != first || h.server.Model() == first {
		t.Error("an outcome moved the state of an open plan, or not that of the study")
	}
	if h.sites[0].Model() != first {
		t.Error("a client is asked at another state")
	}
	if a := h.answer(0); a.Model != first {
		t.Error("a client answers at another state")
	}
	if _, ok := h.server.ModelOf(3); ok {
		t.Error("a plan with an outcome has a state")
	}
	if h.sites[0].Model() != [32]byte{} {
		t.Error("nothing is asked, of some state")
	}
}

// If two states of a study differ in a single bit, their hashes differ.
func TestModelTellsStatesApart(t *testing.T) {
	var a, b pvi.Digest
	b[31] = 1
	hashes := map[[32]byte]int{}
	for i, hash := range [][32]byte{
		modelOfLambda(a, nil),
		modelOfLambda(b, nil),
		modelOfLambda(a, []pvi.Wide{{Hi: 0, Lo: 0}}),
		modelOfLambda(a, []pvi.Wide{{Hi: 0, Lo: 1}}),
		modelOfLambda(a, []pvi.Wide{{Hi: 1, Lo: 0}}),
		modelOfScale(a, []study.Bounds{{Low: -1, High: 1}}),
		modelOfScale(a, []study.Bounds{{Low: -1, High: 2}}),
		modelOfScale(a, []study.Bounds{{Low: -2, High: 1}}),
		modelOfPoint(a, []float64{0.5}),
		modelOfPoint(a, []float64{0.25}),
	} {
		if before, seen := hashes[hash]; seen {
			t.Errorf("states %d and %d have one hash", before, i)
		}
		hashes[hash] = i
	}
}

// While a client has a pending plan, it queues the outcomes of other plans. Its answer does not
// depend on them, even after a restart.
func TestLateClient(t *testing.T) {
	st := planeStudy(t, noPrivacy, "schedule = \"asynchronous\"\ndamping = 0.5", "")
	early, late := newHouse(t, st, 3), newHouse(t, st, 3)
	early.next()
	want := early.answer(0)

	late.next()
	late.send(1)
	late.send(2)
	late.next()
	late.send(1)
	if n := len(late.sites[0].queue); n != 3 {
		t.Fatalf("%d outcomes wait, want 3", n)
	}
	saved := state(t, late.sites[0])
	late.sites[0] = late.restored(0)
	if !bytes.Equal(saved, state(t, late.sites[0])) {
		t.Error("the state is another when it is restored")
	}
	refused(t, "an outcome that skips one", "where outcome 4 was next", late.sites[0], func() error {
		clone, err := RestoreServer(st, late.roster, state(t, late.server))
		check(t, err)
		var e *Entry
		for _, ask := range clone.Open() {
			e, err = clone.Close(ask)
			check(t, err)
		}
		return late.sites[0].Follow(*e)
	})
	got := late.send(0)
	if got.Plan != want.Plan || !bytes.Equal(got.Release, want.Release) {
		t.Error("a late answer is another")
	}
	late.finish()
	a, err := late.server.Result()
	check(t, err)
	b, err := late.sites[0].Result()
	if err != nil || !slices.Equal(a.Natural, b.Natural) {
		t.Errorf("the late client ends elsewhere, %v", err)
	}
}

// If a plan ends without a client's answer, the client applies the queued outcomes and no longer
// answers the plan.
func TestEndedWithoutTheClient(t *testing.T) {
	st := planeStudy(t, noPrivacy, "schedule = \"asynchronous\"\ndamping = 0.5", "")
	h := newHouse(t, st, 3)
	h.next()
	h.send(1)
	h.close(1)
	if _, ok := h.sites[0].Pending(); ok || len(h.sites[0].queue) > 0 {
		t.Error("a plan with an outcome is still to be answered, or outcomes still wait")
	}
	if !slices.Equal(h.sites[0].rounds.Lambda(), h.server.rounds.Lambda()) {
		t.Error("the client is elsewhere")
	}
	refused(t, "an answer to nothing", "no plan names this client", h.sites[0], func() error {
		_, err := h.sites[0].Answer(seeded.Stream(1, "late"))
		return err
	})
}

// A client that was away catches up on the entries that it missed and takes part again. A round
// with too few answers is void.
func TestAway(t *testing.T) {
	h := newHouse(t, planeStudy(t, clientPrivacy, "", "min_clients = 2"), 3)
	away := h.sites[2]
	h.sites[2] = nil
	h.next()
	h.send(0)
	h.send(1)
	h.close(1)
	h.next()
	h.send(0)
	h.close(2)
	for _, e := range h.said {
		check(t, away.Follow(e))
		if _, ok := away.Pending(); ok != (e.Kind == Plan) {
			t.Errorf("after the %s of plan %d: asked is %t", e.Kind, e.Plan, ok)
		}
	}
	h.sites[2] = away
	if h.round(); !h.server.Done() || away.Releases() != 1 {
		t.Errorf("it took part %d times, want once", away.Releases())
	}
	r, err := away.Result()
	if err != nil || r.Accepted != 2 || r.Void != 1 || r.Outcomes != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

// If the last round is void, a note explains why there is no noise-aware posterior.
func TestVoidLastRound(t *testing.T) {
	h := newHouse(t, planeStudy(t, recordPrivacy, steps+"\nnoise_aware = \"one-step\"", ""), 2)
	for range 3 {
		h.round()
	}
	ask := h.next().Plan
	h.send(0)
	h.close(ask)
	r, err := h.sites[0].Result()
	if err != nil || r.NoiseAware != nil || !strings.Contains(strings.Join(r.Notes, " "), "last round had too few") {
		t.Errorf("%+v, %v", r, err)
	}
}

// A void pass leaves the bounds as they are, and the study continues.
func TestVoidPass(t *testing.T) {
	h := newHouse(t, planeStudy(t, noPrivacy, "", "", scaled...), 2)
	for range 3 {
		h.close(h.next().Plan)
	}
	h.finish()
	if r, err := h.sites[1].Result(); err != nil || len(r.Scale) == 0 || r.Scale[0].Finding != scale.Unopened {
		t.Errorf("%+v, %v", r, err)
	}
}

// Servers and sites refuse a study that uses a published method with a wrong privacy claim.
func TestNothingAsPublished(t *testing.T) {
	st := planeStudy(t, clientPrivacy, "factors = \"published\"\ndamping = 0.3", "")
	roster := []pvi.ClientID{"a", "b"}
	_, server := NewServer(st, roster)
	_, site := NewSite(st, roster, "a", planeRecords(0, 5))
	_, costs := Costs(st, roster)
	for _, err := range []error{server, site, costs} {
		if err == nil || !strings.Contains(err.Error(), "as published") {
			t.Errorf("%v, want a refusal", err)
		}
	}
}

// NewSite accepts a client without records. An error would reveal that the client has none.
func TestSiteWithoutRecords(t *testing.T) {
	roster := []pvi.ClientID{"a", "b"}
	for _, overrides := range [][]study.Override{nil, scaled} {
		st := planeStudy(t, noPrivacy, "", "", overrides...)
		if _, err := NewSite(st, roster, "a", new(shard.Records)); err != nil {
			t.Errorf("a client without records: %v", err)
		}
		if _, err := NewSite(st, roster, "c", planeRecords(0, 5)); err == nil {
			t.Error("a stranger has a site")
		}
	}
}
