package session

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/wire"
)

// In every phase, the server refuses invalid releases and stays in the same state.
//
//abuse:case A20 refused in every phase, state unchanged
func TestServerRefuses(t *testing.T) {
	st := everyPhase(t)
	h := newHouse(t, st, 2)
	stranger := newHouse(t, st, 3)
	stranger.next()
	foreign := stranger.answer(0)
	for !h.server.Done() {
		ask := h.next().Plan
		a, b := h.answer(0), h.answer(1)
		collect := func(client pvi.ClientID, ask int, release []byte) func() error {
			return func() error { _, err := h.server.Collect(client, ask, release); return err }
		}
		refused(t, "another's release", `sent a release of client "c00"`, h.server, collect("c01", ask, a.Release))
		refused(t, "a stranger", "sent a release of client", h.server, collect("c07", ask, a.Release))
		refused(t, "an earlier plan", "is not open", h.server, collect("c00", ask-1, a.Release))
		refused(t, "a later plan", "is not open", h.server, collect("c00", ask+1, a.Release))
		refused(t, "no plan", "is not open", h.server, collect("c00", 0, a.Release))
		refused(t, "a part", "cannot be read", h.server, collect("c00", ask, a.Release[:len(a.Release)-1]))
		refused(t, "more", "cannot be read", h.server, collect("c00", ask, append(slices.Clone(a.Release), 0)))
		refused(t, "nothing", "cannot be read", h.server, collect("c00", ask, nil))
		refused(t, "another study's", "is for ", h.server, collect("c00", ask, flipped(a.Release, 2)))
		refused(t, "beyond the mechanism", "beyond what", h.server, collect("c00", ask, farOff(a.Release)))
		if ask > 1 {
			refused(t, "another phase's, or another federation's", "", h.server, collect("c00", ask, foreign.Release))
		}
		_, err := h.server.Collect("c00", ask, a.Release)
		check(t, err)
		if w := h.server.Waiting(ask); !slices.Equal(w, h.roster[1:]) {
			t.Errorf("it waits for %v", w)
		}
		refused(t, "a release twice", "has answered", h.server, collect("c00", ask, a.Release))
		refused(t, "closing another", "is not open", h.server, func() error { _, err := h.server.Close(ask + 1); return err })
		if _, ok := h.server.Next(); ok {
			t.Error("a second plan is made while one is open")
		}
		e, err := h.server.Collect("c01", ask, b.Release)
		if err != nil || e == nil {
			t.Fatal(err)
		}
		h.say(e)
		if h.server.Waiting(ask) != nil || len(h.server.Open()) > 0 {
			t.Error("it waits for a plan that has an outcome")
		}
	}
}

func farOff(b []byte) []byte {
	b = slices.Clone(b)
	b[len(b)-1] = 0x7f
	return b
}

//abuse:case A03 a client follows nothing that does not follow
func TestSiteRefuses(t *testing.T) {
	st := everyPhase(t)
	h := newHouse(t, st, 2)
	site := h.sites[0]
	_, all := site.Plans()
	follow := func(e Entry) func() error { return func() error { return site.Follow(e) } }
	for !h.server.Done() {
		plan, _ := h.server.Next()
		refused(t, "an outcome before its plan", "", site, follow(Entry{outcomeKind(site), plan.Plan, plan.Body}))
		refused(t, "a later plan", "", site, follow(Entry{plan.Kind, plan.Plan + 1, plan.Body}))
		refused(t, "plan 0", "is not among", site, follow(Entry{plan.Kind, 0, plan.Body}))
		refused(t, "a plan after the last", "is not among", site, follow(Entry{plan.Kind, all + 1, plan.Body}))
		refused(t, "an unknown kind", "has an entry of kind", site, follow(Entry{"end", plan.Plan, plan.Body}))
		refused(t, "another digest", "is for ", site, follow(Entry{plan.Kind, plan.Plan, flipped(plan.Body, 3)}))
		refused(t, "half a plan", "cannot be read", site, follow(Entry{plan.Kind, plan.Plan, plan.Body[:len(plan.Body)-1]}))
		if number := 2 + 32; plan.Kind != OneStepPlan {
			refused(t, "another number", "has another number in it", site, follow(Entry{plan.Kind, plan.Plan, flipped(plan.Body, number)}))
		}
		if lambda := 2 + 32 + 8 + 4; plan.Kind == Plan {
			refused(t, "another λ", "does not follow from the outcomes", site, follow(Entry{plan.Kind, plan.Plan, flipped(plan.Body, lambda)}))
		}
		h.say(&plan)
		refused(t, "a plan twice", "came where plan", site, follow(plan))
		refused(t, "an outcome of a later plan", "", site, follow(Entry{outcomeKind(site), plan.Plan + 1, plan.Body}))
		a, b := h.answer(0), h.answer(1)
		refused(t, "a second answer", "no plan names this client", site, func() error { _, err := site.Answer(seeded.Stream(2, "again")); return err })
		for m, release := range [][]byte{a.Release, b.Release} {
			e, err := h.server.Collect(h.roster[m], plan.Plan, release)
			check(t, err)
			if e == nil {
				continue
			}
			refused(t, "an outcome with another digest", "is for ", site, follow(Entry{e.Kind, e.Plan, flipped(e.Body, 3)}))
			refused(t, "half an outcome", "cannot be read", site, follow(Entry{e.Kind, e.Plan, e.Body[:len(e.Body)-1]}))
			refused(t, "an outcome of another plan", "", site, follow(Entry{e.Kind, e.Plan - 1, e.Body}))
			refused(t, "an outcome beyond the mechanism", "beyond what", site, follow(Entry{e.Kind, e.Plan, farOff(e.Body)}))
			h.say(e)
			refused(t, "an outcome twice", "is not open", site, follow(*e))
		}
	}
}

// A client refuses an outcome that claims to contain its answer, if it did not answer that plan.
//
//abuse:case A16 a copy notices an answer that it did not give
func TestCountedWithoutAnAnswer(t *testing.T) {
	st := planeStudy(t, noPrivacy, "", "")
	h := newHouse(t, st, 2)
	h.next()
	silent := h.sites[0]
	h.sites[0] = h.newSite(0)
	check(t, h.sites[0].Follow(h.said[0]))
	h.send(0)
	h.send(1)
	refused(t, "an answer that it did not give", "", silent, func() error { return silent.Follow(h.said[1]) })
}

// If a plan asks a client, and has no outcome yet, the client refuses another plan that asks it.
//
//abuse:case A02 refused
func TestSecondPlanIsRefused(t *testing.T) {
	h := newHouse(t, planeStudy(t, noPrivacy, "schedule = \"asynchronous\"\ndamping = 0.5", ""), 2)
	h.next()
	p := h.server.course.protocol
	lie := wire.AppendPlan(nil, &pvi.Plan{Protocol: p.Digest(), Number: 3, Lambda: h.server.rounds.Lambda(), Participants: h.roster[:1]})
	refused(t, "a second plan", "names client", h.sites[0], func() error { return h.sites[0].Follow(Entry{Plan, 3, lie}) })
	if err := h.sites[1].Follow(Entry{Plan, 3, lie}); err != nil {
		t.Errorf("it is for others: %v", err)
	}
}

// A server is restored from its state after the last entry, and collects the releases since then in
// random order. It ends up in the same state as a server that never stopped.
func TestReplay(t *testing.T) {
	const clients = 7
	for _, c := range []struct{ privacy, inference string }{
		{noPrivacy, ""}, {clientPrivacy, ""}, {recordPrivacy, steps + "\nnoise_aware = \"one-step\""},
	} {
		st := planeStudy(t, c.privacy, c.inference, "")
		h := newHouse(t, st, clients)
		for !h.server.Done() {
			h.next()
			saved := state(t, h.server)
			ask, _ := h.server.Plans()
			var releases [clients - 1][]byte
			for m := range releases {
				releases[m] = h.answer(m).Release
				if e, err := h.server.Collect(h.roster[m], ask, releases[m]); err != nil || e != nil {
					t.Fatal(e, err)
				}
			}
			again, err := RestoreServer(st, h.roster, saved)
			check(t, err)
			for _, m := range rand.New(rand.NewPCG(1, uint64(ask))).Perm(len(releases)) {
				_, err := again.Collect(h.roster[m], ask, releases[m])
				check(t, err)
			}
			if !bytes.Equal(state(t, again), state(t, h.server)) {
				t.Fatal("the state is another")
			}
			h.send(clients - 1)
		}
	}
}

// A site's state does not depend on the records before its first answer.
//
//abuse:case A18 before it answers, a client's state tells nothing
func TestStateHoldsNoRecord(t *testing.T) {
	st := planeStudy(t, clientPrivacy, "", "")
	roster := []pvi.ClientID{"a", "b"}
	server, err := NewServer(st, roster)
	check(t, err)
	plan, _ := server.Next()
	var states [2][]byte
	for i, records := range []*shard.Records{planeRecords(0, 10), planeRecords(3, 200)} {
		site, err := NewSite(st, roster, "a", records)
		check(t, err)
		check(t, site.Follow(plan))
		states[i] = state(t, site)
	}
	if !bytes.Equal(states[0], states[1]) {
		t.Error("the states of clients with other records differ before either answers")
	}
}

// A client refuses a plan of the next phase while a plan of the current phase is open.
func TestAPlanBeforeItsPhase(t *testing.T) {
	h := newHouse(t, everyPhase(t), 2)
	site := h.sites[0]
	_, all := site.Plans()
	for ask := h.next().Plan; ask < all; ask = h.next().Plan {
		if place, _ := h.server.course.at(ask + 1); place != len(site.phases)-1 {
			refused(t, "a plan of the next phase", "before the end of the phase", site, func() error {
				return site.Follow(Entry{planKind(h.server.course.phases[place]), ask + 1, h.said[len(h.said)-1].Body})
			})
		}
		h.send(0)
		h.send(1)
	}
}

// In every phase, a plan is void if it gets fewer answers than the study's min_clients.
//
//abuse:case A05 the least number holds in every phase
func TestFewestInEveryPhase(t *testing.T) {
	st := planeStudy(t, clientPrivacy, "", "min_clients = 2", scaledPrivately...)
	h := newHouse(t, st, 3)
	for !h.server.Done() {
		if n := h.server.Fewest(); n != 2 {
			t.Fatalf("%d answers are enough for plan %d", n, len(h.said)/2+1)
		}
		h.round()
	}
}

func outcomeKind(s *Site) Kind {
	_, kind := s.course.phases[len(s.phases)-1].kinds()
	return kind
}

func planKind(p phase) Kind {
	kind, _ := p.kinds()
	return kind
}
