package pvi

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// These settings update λ and the factors in different ways.
var bookkeepings = []struct{ privacy, inference string }{
	{noPrivacy, ``},
	{noPrivacy, "factors = \"tied\"\ndamping = 0.3"},
	{noPrivacy, "schedule = \"sequential\"\ndamping = 0.7"},
	{noPrivacy, "schedule = \"asynchronous\"\ndamping = 0.7"},
	{noPrivacy, "q = \"diagonal\"\ndamping = 0.4"},
	{recordPrivacy, ``},
	{recordPrivacy, `factors = "published"` + "\ndamping = 0.2"},
	{recordPrivacy, `schedule = "asynchronous"`},
	{clientPrivacy, ``},
	{clientPrivacy, `factors = "exact"` + "\ndamping = 0.3"},
	{clientPrivacy + "\ncoordinates = \"raw\"", `factors = "exact"` + "\ndamping = 0.3"},
	{clientPrivacy, `factors = "published"` + "\ndamping = 0.3"},
	{clientPrivacy, `q = "diagonal"` + "\nfactors = \"exact\"\ndamping = 0.3"},
	{clientPrivacy + "\nadjacency = \"replace-one\"", ``},
}

// After every outcome, λ equals λ_prior + Σ λ_m to the last bit if the factors contain their own
// noise. Otherwise it also includes the noise in the accepted sums, which the test draws a second
// time. Answers come in any order, late or not at all, and some rounds are void.
func TestInvariant(t *testing.T) {
	const clients = 5
	for _, b := range bookkeepings {
		st := planeStudy(t, b.privacy, b.inference, "min_clients = 3")
		t.Run(b.privacy+b.inference, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				h := newHouse(t, st, clients, rapid.Uint64Range(0, 3).Draw(rt, "seed"))
				p := h.protocol
				noise := make([]Wide, p.family.Size()) // λ_noise, the sum of the noise in all accepted outcomes
				flying := map[int][]*Release{}         // answers that have not been collected yet, by plan
				for !h.server.Done() {
					if plan, ok := h.server.Next(); ok {
						for m, s := range h.sites {
							if _, asked := slices.BinarySearch(plan.Participants, s.ID()); asked {
								flying[plan.Number] = append(flying[plan.Number], h.propose(m, &plan))
							}
						}
						continue
					}
					open := h.server.Open()
					number := rapid.SampledFrom(open).Draw(rt, "plan")
					var outcome *Outcome
					var err error
					waiting := flying[number]
					if len(waiting) > 0 && rapid.IntRange(0, 9).Draw(rt, "deadline") > 0 {
						i := rapid.IntRange(0, len(waiting)-1).Draw(rt, "answer")
						outcome, err = h.server.Collect(waiting[i])
						flying[number] = slices.Delete(waiting, i, i+1)
					} else {
						outcome, err = h.server.Close(number)
					}
					check(rt, err)
					if outcome == nil {
						continue
					}
					if outcome.Verdict == Accepted {
						addNoise(h, noise, outcome)
					}
					h.settle(outcome)
					checkInvariant(rt, h, noise)
				}
			})
		})
	}
}

func addNoise(h *house, noise []Wide, o *Outcome) {
	p := h.protocol
	if p.study.Privacy.Unit != study.Client || p.study.Inference.Factors != study.Exact {
		return
	}
	g, err := dpmech.NewDiscreteGaussian(mechanismOf(p).ShareSigma())
	check(h.t, err)
	sum, share := make([]int64, len(noise)), make([]int64, len(noise))
	for m, s := range h.sites {
		if _, took := slices.BinarySearch(o.Participants, s.ID()); !took {
			continue
		}
		g.Fill(share, seeded.Stream(h.seed, "noise", uint64(m), uint64(o.Number)))
		for i := range sum {
			sum[i] += share[i]
		}
	}
	p.coordinates.Move(noise, sum, p.damping(o.Number), o.Centre)
}

func checkInvariant(t interface{ Fatalf(string, ...any) }, h *house, noise []Wide) {
	p := h.protocol
	total := slices.Clone(noise)
	for _, s := range h.sites {
		if !slices.Equal(s.q.lambda, h.server.Lambda()) {
			t.Fatalf("client %s has another λ than the server", s.ID())
		}
		for i, w := range memoryOf(s).Factor {
			total[i] = total[i].Add(w)
		}
	}
	if p.study.Inference.Factors == study.Tied {
		return // The weights of tied factors add up to one.
	}
	if !slices.Equal(total, h.server.Lambda()) {
		t.Fatalf("λ − λ_prior is %v, the factors and the noise add up to %v", h.server.Lambda(), total)
	}
}

// If the model is conjugate and there is no noise, a single round finds the exact posterior.
func TestOneRoundIsPooled(t *testing.T) {
	for _, inference := range []string{"", "factors = \"tied\"", "schedule = \"sequential\"", "schedule = \"asynchronous\""} {
		h := newHouse(t, planeStudy(t, noPrivacy, inference, ""), 5, 1)
		for range h.protocol.Plans() / h.protocol.study.Inference.Rounds {
			plan, _ := h.server.Next()
			h.settle(h.answered(&plan))
		}
		if gap := relativeGap(h.server.Posterior(), h.pooled()); gap > 1e-9 {
			t.Errorf("%q: after one round q and the pooled posterior differ by %.2g", inference, gap)
		}
	}
}

// The weights of all clients' tied factors add up to one.
func TestTiedFactors(t *testing.T) {
	h := newHouse(t, planeStudy(t, noPrivacy, "factors = \"tied\"\ndamping = 0.3", ""), 5, 1)
	h.run()
	sum, factor := make([]float64, 5), make([]float64, 5)
	for _, s := range h.sites {
		h.protocol.setting.NewFactor(h.protocol.exponent).Natural(factor, s.q.lambda)
		for i, x := range factor {
			sum[i] += x
		}
	}
	for i, q := range h.server.Posterior() {
		sum[i] += h.protocol.Prior()[i]
		if gap := relativeGap(sum[i:i+1], []float64{q}); gap > 1e-14 {
			t.Errorf("natural parameter %d: prior and factors add up to %g, q has %g", i, sum[i], q)
		}
	}
}

// It does not matter which client has which shard: the final λ is the same to the last bit.
func TestPermutation(t *testing.T) {
	for _, inference := range []string{"", "factors = \"tied\"\ndamping = 0.3", "schedule = \"sequential\"", "schedule = \"asynchronous\"\ndamping = 0.5"} {
		st := planeStudy(t, noPrivacy, inference, "")
		straight, permuted := newHouse(t, st, 6, 7), newHouse(t, st, 6, 7)
		for m, from := range rand.New(rand.NewPCG(1, 1)).Perm(6) {
			permuted.shards[m] = straight.shards[from]
		}
		for m := range permuted.sites {
			permuted.sites[m] = permuted.newSite(m)
		}
		straight.run()
		permuted.run()
		if !slices.Equal(straight.server.Lambda(), permuted.server.Lambda()) {
			t.Errorf("%q: giving the shards to other clients changes λ", inference)
		}
	}
}

func TestSavedStateContinues(t *testing.T) {
	for _, b := range bookkeepings {
		t.Run(b.privacy+b.inference, func(t *testing.T) {
			h := newHouse(t, planeStudy(t, b.privacy, b.inference, "min_clients = 2"), 4, 3)
			sameAfterRestarts(t, h.protocol, h.seed, h.shards...)
		})
	}
}

// sameAfterRestarts checks that a study with restarts ends in the same states as one without, and
// returns the house without restarts.
func sameAfterRestarts(t *testing.T, p *Protocol, seed uint64, shards ...*shard.Shard) *house {
	t.Helper()
	steady, restarted := houseOf(t, p, seed, shards...), houseOf(t, p, seed, shards...)
	steady.run()
	restarted.runRestarting()
	if !slices.Equal(steady.server.Lambda(), restarted.server.Lambda()) {
		t.Fatal("λ differs")
	}
	for m := range steady.sites {
		a, err1 := steady.sites[m].MarshalBinary()
		b, err2 := restarted.sites[m].MarshalBinary()
		if err1 != nil || err2 != nil || string(a) != string(b) {
			t.Errorf("client %d: states\n%s\n%s, %v, %v", m, a, b, err1, err2)
		}
	}
	return steady
}

// runRestarting restores all machines before and after every message. It checks that an answer
// makes as many releases as Ahead says, and that no plan is answered twice.
func (h *house) runRestarting() {
	h.t.Helper()
	restart := func() {
		for m := -1; m < len(h.sites); m++ {
			h.restart(m)
		}
	}
	for {
		restart()
		plan, ok := h.server.Next()
		if !ok {
			return
		}
		for m, s := range h.sites {
			if !slices.Contains(plan.Participants, s.ID()) {
				continue
			}
			restart()
			want := h.sites[m].Releases() + h.sites[m].Ahead()
			r := h.propose(m, &plan)
			restart()
			if got := h.sites[m].Releases(); got != want {
				h.t.Errorf("plan %d: %d releases charged, want %d", plan.Number, got, want)
			}
			if err := h.sites[m].Propose(new(Release), &plan, seeded.Stream(2, "noise")); err == nil {
				h.t.Errorf("plan %d was answered twice", plan.Number)
			}
			o, err := h.server.Collect(r)
			check(h.t, err)
			restart()
			if o != nil {
				h.settle(o)
			}
		}
	}
}

// restart restores site m, or the server if m is negative, from its saved state.
func (h *house) restart(m int) {
	h.t.Helper()
	if m < 0 {
		var err error
		h.server, err = RestoreServer(h.protocol, saved(h.t, h.server))
		check(h.t, err)
		return
	}
	site := h.newSite(m)
	check(h.t, site.Restore(saved(h.t, h.sites[m])))
	if site.Releases() != h.sites[m].Releases() {
		h.t.Fatal("the mechanism forgot its releases")
	}
	h.sites[m] = site
}

func TestRefusals(t *testing.T) {
	st := planeStudy(t, clientPrivacy, "", "min_clients = 3")
	// do changes or repeats one message of a new study. The receiver must refuse it.
	for _, c := range []struct {
		name string
		want string
		do   func(h *house, plan *Plan) error
	}{
		{"plan of another study", "this is", func(h *house, p *Plan) error { p.Protocol[0]++; return h.answer(0, p) }},
		{"plan beyond the study", "not among the study's 6", func(h *house, p *Plan) error { p.Number = 7; return h.answer(0, p) }},
		{"plan number zero", "not among the study's 6", func(h *house, p *Plan) error { p.Number = 0; return h.answer(0, p) }},
		{"plan answered before", "has answered plan 1", func(h *house, p *Plan) error { h.propose(0, p); return h.answer(0, p) }},
		{"plan before the outcome", "still waits for the outcome of plan 1", func(h *house, p *Plan) error { h.propose(0, p); p.Number = 2; return h.answer(0, p) }},
		{"plan for others", "is not among those of", func(h *house, p *Plan) error { p.Participants = p.Participants[1:]; return h.answer(0, p) }},
		{"plan for too few", "fewer than the 3", func(h *house, p *Plan) error { p.Participants = p.Participants[:2]; return h.answer(0, p) }},
		{"plan for strangers", "not in the roster", func(h *house, p *Plan) error { p.Participants[1] = "c00x"; return h.answer(0, p) }},
		{"plan out of order", "not in the roster, or not in order", func(h *house, p *Plan) error { slices.Reverse(p.Participants); return h.answer(0, p) }},
		{"plan that counts twice", "not in the roster, or not in order", func(h *house, p *Plan) error { p.Participants[1] = "c00"; return h.answer(0, p) }},
		{"plan with another λ", "does not follow from the outcomes", func(h *house, p *Plan) error { p.Lambda[0].Lo++; return h.answer(0, p) }},
		{"plan with a short λ", "does not follow from the outcomes", func(h *house, p *Plan) error { p.Lambda = p.Lambda[1:]; return h.answer(0, p) }},
		{"release of another study", "this is", func(h *house, p *Plan) error { return h.collect(p, func(r *Release) { r.Protocol[0]++ }) }},
		{"release for no plan", "plan 3 is not open", func(h *house, p *Plan) error { return h.collect(p, func(r *Release) { r.Number = 3 }) }},
		{"release of a stranger", "is not among those of", func(h *house, p *Plan) error { return h.collect(p, func(r *Release) { r.Client = "x" }) }},
		{"short release", "has 4 elements, want 5", func(h *house, p *Plan) error { return h.collect(p, func(r *Release) { r.Change = r.Change[1:] }) }},
		{"release beyond reach", "beyond what the mechanism can yield", func(h *house, p *Plan) error { return h.collect(p, func(r *Release) { r.Change[4] = -1 << 62 }) }},
		{"release sent twice", "has answered plan 1", func(h *house, p *Plan) error {
			if err := h.collect(p, nil); err != nil {
				return err
			}
			return h.collectAgain(p)
		}},
		{"deadline of no plan", "plan 2 is not open", func(h *house, p *Plan) error { _, err := h.server.Close(2); return err }},
		{"outcome of another study", "this is", func(h *house, p *Plan) error { return h.follow(p, func(o *Outcome) { o.Protocol[0]++ }) }},
		{"outcome out of order", "outcome 2 came where outcome 1 was next", func(h *house, p *Plan) error { return h.follow(p, func(o *Outcome) { o.Sequence = 2 }) }},
		{"outcome of no plan", "outcome 1 cannot be of plan 99", func(h *house, p *Plan) error { return h.follow(p, func(o *Outcome) { o.Number = 99 }) }},
		{"outcome with a short sum", "has 4 elements", func(h *house, p *Plan) error { return h.follow(p, func(o *Outcome) { o.Sum = o.Sum[1:] }) }},
		{"sum opened for too few", "was opened for 2 answers, fewer than the 3", func(h *house, p *Plan) error {
			return h.follow(p, func(o *Outcome) { o.Participants = o.Participants[:2] })
		}},
		{"outcome of strangers", "not in the roster", func(h *house, p *Plan) error { return h.follow(p, func(o *Outcome) { o.Participants[3] = "x" }) }},
		{"false verdict", "does not follow from its sum", func(h *house, p *Plan) error { return h.follow(p, func(o *Outcome) { o.Verdict = Rejected }) }},
		{"unknown verdict", `"maybe"`, func(h *house, p *Plan) error { return h.follow(p, func(o *Outcome) { o.Verdict = "maybe" }) }},
		{"outcome of the next plan", "outcome 1 cannot be of plan 2", func(h *house, p *Plan) error { return h.follow(p, func(o *Outcome) { o.Number = 2 }) }},
		{"outcome with an answer not given", "that client \"c00\" did not give", func(h *house, p *Plan) error {
			return h.sites[0].Settle(&Outcome{Protocol: p.Protocol, Sequence: 1, Number: 1, Verdict: Void, Participants: []ClientID{"c00"}})
		}},
		{"outcome with an answer to another plan", "that client \"c00\" did not give", func(h *house, p *Plan) error {
			next := *p
			next.Number = 2
			h.propose(0, &next) // The client has not answered plan 1 yet.
			return h.sites[0].Settle(&Outcome{Protocol: p.Protocol, Sequence: 1, Number: 1, Verdict: Void, Centre: p.Centre, Participants: []ClientID{"c00"}})
		}},
		{"outcome with another centre", "another centre than the plan", func(h *house, p *Plan) error { return h.follow(p, func(o *Outcome) { o.Centre = []int64{1, 2} }) }},
		{"void outcome with a sum", "is void and has a sum", func(h *house, p *Plan) error { return h.follow(p, func(o *Outcome) { o.Verdict = Void }) }},
		{"sum beyond reach", "beyond what 4 answers can yield", func(h *house, p *Plan) error { return h.follow(p, func(o *Outcome) { o.Sum[0] = 1 << 62 }) }},
		{"plan with a long centre", "the centre has 3 elements, want 2", func(h *house, p *Plan) error { p.Centre = make([]int64, 3); return h.answer(0, p) }},
		{"plan with a wild centre", "beyond its limit", func(h *house, p *Plan) error { p.Centre = []int64{0, 1 << 40}; return h.answer(0, p) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, st, 4, 1)
			plan, _ := h.server.Next()
			plan.Participants = slices.Clone(plan.Participants)
			err := c.do(h, &plan)
			var refused *Refused
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want a refusal with %q", err, c.want)
			}
		})
	}
}

// unchanged calls f, which must not change m, and returns the error of f or an error that says that
// m has changed.
func unchanged(m encoding.BinaryMarshaler, f func() error) error {
	before, _ := m.MarshalBinary()
	err := f()
	if after, _ := m.MarshalBinary(); err != nil && !bytes.Equal(after, before) {
		return fmt.Errorf("a refusal changed the state from %s to %s", before, after)
	}
	return err
}

func (h *house) answer(m int, plan *Plan) error {
	s := h.sites[m]
	return unchanged(s, func() error { return s.Propose(new(Release), plan, seeded.Stream(1, "refused")) })
}

// collect applies change to the answer of site 0 and passes it to the server.
func (h *house) collect(plan *Plan, change func(*Release)) error {
	r := h.propose(0, plan)
	if change != nil {
		change(r)
	}
	return h.deliver(r)
}

func (h *house) collectAgain(plan *Plan) error {
	return h.deliver(&Release{Protocol: plan.Protocol, Number: plan.Number, Client: clientID(0), Change: make([]int64, 5)})
}

func (h *house) deliver(r *Release) error {
	return unchanged(h.server, func() error { _, err := h.server.Collect(r); return err })
}

// follow applies change to the plan's outcome and passes it to site 0.
func (h *house) follow(plan *Plan, change func(*Outcome)) error {
	outcome := h.answered(plan)
	outcome.Participants = slices.Clone(outcome.Participants)
	change(outcome)
	return unchanged(h.sites[0], func() error { return h.sites[0].Settle(outcome) })
}

// If fewer than U_min clients answer, their sum is not opened, but their privacy is spent.
func TestVoid(t *testing.T) {
	h := newHouse(t, planeStudy(t, clientPrivacy, "", "min_clients = 3"), 4, 1)
	plan, _ := h.server.Next()
	for m := range 2 {
		_, err := h.server.Collect(h.propose(m, &plan))
		check(t, err)
	}
	if got, want := h.server.Waiting(), []ClientID{"c02", "c03"}; !slices.Equal(got, want) {
		t.Errorf("the server waits for %v, want %v", got, want)
	}
	outcome, err := h.server.Close(plan.Number)
	if err != nil || outcome.Verdict != Void || outcome.Sum != nil {
		t.Fatalf("two of three answers: %+v, %v", outcome, err)
	}
	h.settle(outcome)
	if n := h.sites[0].Releases(); n != 1 {
		t.Errorf("a client that answered has paid %d times, want once", n)
	}
	if n := h.sites[3].Releases(); n != 0 {
		t.Errorf("a client that did not answer has paid %d times", n)
	}
	h.run()
	if !h.server.Done() || h.server.Outcomes() != 6 {
		t.Errorf("the study ended after %d of 6 outcomes", h.server.Outcomes())
	}
}

// If q is so close to improper that rounding decides, a client accepts either verdict. In all other
// cases it accepts only the right one.
func TestBorderline(t *testing.T) {
	for _, c := range []struct {
		precision float64 // precision of one coordinate of q after the outcome
		verdict   Verdict
		followed  bool
	}{
		{0, Accepted, true},
		{0, Rejected, true},
		{-0x1p-30, Accepted, false},
		{-0x1p-30, Rejected, true},
		{0x1p-30, Accepted, true},
		{0x1p-30, Rejected, false},
	} {
		for _, q := range []string{"diagonal", "full"} {
			h := newHouse(t, planeStudy(t, noPrivacy, "q = \""+q+"\"", ""), 3, 1)
			plan, _ := h.server.Next()
			for m := range h.sites {
				h.propose(m, &plan)
			}
			o := &Outcome{Protocol: plan.Protocol, Sequence: 1, Number: 1, Verdict: c.verdict, Participants: plan.Participants, Sum: make([]int64, h.protocol.family.Size())}
			o.Sum[2] = int64(math.Ldexp(c.precision-1, h.protocol.messages.Lattice.Exponent())) // the precision of the prior is 1
			if back := math.Ldexp(float64(o.Sum[2]), -h.protocol.messages.Lattice.Exponent()); back != c.precision-1 {
				t.Fatalf("the lattice has %g for %g", back, c.precision-1)
			}
			s := h.sites[0]
			err := s.Settle(o)
			if (err == nil) != c.followed {
				t.Errorf("%s: a precision of %g that is %s: %v", q, c.precision, c.verdict, err)
			}
			moved := s.q.lambda[2] != Wide{}
			if moved != (c.followed && c.verdict == Accepted) {
				t.Errorf("%s: a precision of %g that is %s moves λ: %v", q, c.precision, c.verdict, moved)
			}
			if !moved {
				continue
			}
			if err := h.newSite(0).Restore(saved(t, s)); err != nil {
				t.Errorf("%s: the λ that was followed is not taken up again: %v", q, err)
			}
			next := &Plan{Protocol: plan.Protocol, Number: 2, Lambda: s.q.lambda, Participants: plan.Participants}
			if err := s.Propose(new(Release), next, seeded.Stream(1, "next")); err != nil {
				t.Errorf("%s: the next plan: %v", q, err)
			}
		}
	}
}

// If only rounding makes q count as proper, its mean still becomes the next centre, even after a
// restart.
func TestBorderlineCentre(t *testing.T) {
	for _, q := range []string{"diagonal", "full"} {
		h := newHouse(t, planeStudy(t, clientPrivacy, "q = \""+q+"\"", ""), 3, 1)
		plan, _ := h.server.Next()
		for m := range h.sites {
			h.propose(m, &plan)
		}
		o := &Outcome{Protocol: plan.Protocol, Sequence: 1, Number: 1, Verdict: Accepted, Centre: plan.Centre, Participants: plan.Participants, Sum: make([]int64, h.protocol.family.Size())}
		alpha := float64(h.protocol.damping(1)) / (1 << method.DampingBits)
		o.Sum[2] = -int64(math.Ldexp(1/alpha, h.protocol.messages.Lattice.Exponent())) // the precision of the prior is 1
		s := h.sites[0]
		check(t, s.Settle(o))
		next, _ := s.Foretell(2)
		if len(next.Centre) != h.protocol.family.Dim() {
			t.Errorf("%s: the centre of the next plan is %d", q, next.Centre)
		}
		again := h.newSite(0)
		check(t, again.Restore(saved(t, s)))
		if after, _ := again.Foretell(2); !slices.Equal(after.Centre, next.Centre) {
			t.Errorf("%s: the centre of the next plan is %d, after a restart %d", q, next.Centre, after.Centre)
		}
	}
}

// Clients with no records, or with more than federation.max_records, answer like all others.
func TestAnyNumberOfRecords(t *testing.T) {
	for _, privacy := range []string{recordPrivacy, clientPrivacy} {
		for _, n := range []int{0, 1, 9, 10, 11, 500} {
			st := planeStudy(t, privacy, "", "")
			st.Federation.MaxRecords = 10
			h := newHouse(t, st, 5, 1)
			h.give(0, planeRecords(1, 0, n))
			h.run()
			if h.sites[0].Releases() == 0 {
				t.Errorf("%s: a client with %d records released nothing", privacy, n)
			}
		}
	}
}

// A client makes no more releases than its budget covers, even if every plan asks only this client.
//
//abuse:case A02 a client answers as often as the study pays for, whoever asks
func TestReleasesAreCapped(t *testing.T) {
	h := newHouse(t, planeStudy(t, recordPrivacy, "factors = \"published\"\nschedule = \"sequential\"", ""), 5, 1)
	s := h.sites[0]
	for n := 1; ; n++ {
		plan := Plan{Protocol: h.protocol.Digest(), Number: n, Lambda: s.q.lambda, Participants: []ClientID{s.ID()}}
		r := new(Release)
		err := s.Propose(r, &plan, seeded.Stream(1, "greedy", uint64(n)))
		var refused *Refused
		if errors.As(err, &refused) {
			if got, want := n-1, h.protocol.study.Inference.Rounds; got != want || s.Releases() != want {
				t.Errorf("the client answered %d times and was charged %d times, want %d: %v", got, s.Releases(), want, err)
			}
			return
		}
		check(t, err)
		o := &Outcome{Protocol: plan.Protocol, Sequence: n, Number: n, Verdict: Accepted, Participants: plan.Participants, Sum: make([]int64, 5)}
		check(t, s.Settle(o))
	}
}

// A client whose change overflows answers like all others, and is charged.
//
//abuse:case A13 it takes part like any other and pays: no error tells
func TestChangeThatIsNotFinite(t *testing.T) {
	source := strings.NewReplacer("bounds = [-1, 1]", "bounds = [-1e200, 1e200]", "bounds = [-10, 10]", "bounds = [-1e200, 1e200]").
		Replace(string(linestudy.Document(linestudy.Parts{Privacy: clientPrivacy, Inference: "rounds = 6"})))
	st, err := study.Parse("plane.toml", []byte(source))
	check(t, err)
	h := newHouse(t, st, 3, 1)
	records := new(shard.Records)
	records.Append([]float64{1e160, 1e160})
	h.give(0, records)
	plan, _ := h.server.Next()
	r := h.propose(0, &plan)
	noise := make([]int64, len(r.Change))
	g, err := dpmech.NewDiscreteGaussian(mechanismOf(h.protocol).ShareSigma())
	check(t, err)
	g.Fill(noise, seeded.Stream(h.seed, "noise", 0, 1))
	if !slices.Equal(r.Change, noise) || h.sites[0].Releases() != 1 {
		t.Errorf("the release is %v, its noise %v, charged %d times", r.Change, noise, h.sites[0].Releases())
	}
}

// Nobody may learn whether a client has records, so a client without any sends noise and pays for
// it.
func TestEmptyShard(t *testing.T) {
	for privacy, releases := range map[string]int{noPrivacy: 0, recordPrivacy: 1, clientPrivacy: 6} {
		h := newHouse(t, planeStudy(t, privacy, "", ""), 3, 1)
		h.give(0, new(shard.Records))
		h.run()
		if got := h.sites[0].Releases(); got != releases {
			t.Errorf("%s: an empty shard was charged %d times, want %d", privacy, got, releases)
		}
	}
}
