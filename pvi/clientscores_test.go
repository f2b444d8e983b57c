package pvi

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/method"
	"fedpvi/pvi/method/clientscores"
	"fedpvi/pvi/shard"
)

const (
	scoringPrivacy   = "unit = \"client\"\nnoise_multiplier = 0.5\ndelta = 1e-5"
	scoringInference = `solver = "scoring"`
)

func scoringHouse(t testing.TB, clients int, privacy, inference, federation string) *house {
	return newHouse(t, planeStudy(t, privacy, scoringInference+"\n"+inference, "nominal_records = 15\n"+federation), clients, 1)
}

func TestScoresMachines(t *testing.T) {
	for name, privacy := range map[string]string{"clients": scoringPrivacy, "records": recordPrivacy} {
		t.Run(name, func(t *testing.T) {
			machinesAgree(t, func() *house {
				return scoringHouse(t, 4, privacy, "", "opens = \"sums\"\nmin_clients = 2\ncolluders = 1")
			})
		})
	}
}

// machinesAgree runs studies with four clients, at least two of which must answer. Some answers are
// lost and machines restart at random. The server and all sites must still agree on λ, and every
// answer must be charged.
func machinesAgree(t *testing.T, newHouse func() *house) {
	const clients = 4
	rapid.Check(t, func(rt *rapid.T) {
		h := newHouse()
		twin := NewServer(h.protocol) // a server that is never restored, for comparison
		restart := func(m int) {
			if rapid.Bool().Draw(rt, "restart") {
				h.restart(m)
			}
		}
		for plan, ok := h.server.Next(); ok; plan, ok = h.server.Next() {
			if _, ok := twin.Next(); !ok {
				rt.Fatal("the twin has no plan")
			}
			missing := rapid.IntRange(0, clients).Draw(rt, "missing")
			var outcome *Outcome
			for m := range clients {
				release := h.propose(m, &plan)
				restart(m)
				if m < missing {
					continue
				}
				var err error
				outcome, err = h.server.Collect(release)
				check(rt, err)
				_, err = twin.Collect(release)
				check(rt, err)
				restart(-1)
			}
			if outcome == nil {
				var err error
				outcome, err = h.server.Close(plan.Number)
				check(rt, err)
				_, err = twin.Close(plan.Number)
				check(rt, err)
			}
			if opened := clients-missing >= 2; opened != (outcome.Verdict == Accepted) || opened == (outcome.Verdict == Void) || opened != (outcome.Sum != nil) {
				rt.Fatalf("%d answers: %s", clients-missing, outcome.Verdict)
			}
			h.settle(outcome)
			for m, s := range h.sites {
				if !slices.Equal(s.q.lambda, h.server.Lambda()) || !slices.Equal(twin.Lambda(), h.server.Lambda()) {
					rt.Fatalf("machines disagree after plan %d", plan.Number)
				}
				if s.Releases() != plan.Number {
					rt.Fatalf("%d answers of client %d, %d charged", plan.Number, m, s.Releases())
				}
				restart(m)
			}
			restart(-1)
		}
	})
}

// The test uses hardly any noise, so that the norm of a message is at most the clipping bound. The
// bound of the first round is set separately; after that, its square grows by a factor of 1.3 per
// round.
func TestClientScoresOfARound(t *testing.T) {
	h := scoringHouse(t, 3, strings.Replace(scoringPrivacy, "0.5", "2e-3", 1), "", "")
	m := h.protocol.method.(*clientscores.Method)
	unit := h.protocol.messages.Lattice.Step()
	for plan, ok := h.server.Next(); ok; plan, ok = h.server.Next() {
		clip := m.Mechanism(plan.Number).Clip()
		want := math.Pow(1.3, float64(plan.Number-h.protocol.Plans())/2)
		if plan.Number == 1 {
			want = votesClip(h.protocol.Plans())
		}
		if math.Abs(clip-want) > 1e-12 {
			t.Errorf("the clip of round %d is %g, want %g", plan.Number, clip, want)
		}
		var outcome *Outcome
		for m := range h.sites {
			release := h.propose(m, &plan)
			var squares float64
			for _, x := range release.Change {
				squares += unit * float64(x) * unit * float64(x)
			}
			// The noise has a norm of about .004.
			if norm := math.Sqrt(squares); norm > clip+.01 || norm < .1*clip {
				t.Errorf("a vector of round %d has norm %g, and the clip is %g", plan.Number, norm, clip)
			}
			var err error
			outcome, err = h.server.Collect(release)
			check(t, err)
		}
		h.settle(outcome)
	}
}

// votesClip returns the clipping bound of the first of n rounds, relative to that of the last. The
// square of the first bound is 12 % of the sum of all squared bounds.
func votesClip(n int) float64 {
	var squares float64
	for round := 2; round <= n; round++ {
		squares += math.Pow(1.3, float64(round-n))
	}
	return math.Sqrt(.12 / .88 * squares)
}

// Round t is a Gaussian release with μ_t = w_t/σ, where w_t is the clipping bound of the round
// relative to that of the last round.
func TestClientScoresCost(t *testing.T) {
	p := scoringHouse(t, 5, scoringPrivacy, "", "min_clients = 4\ncolluders = 1").protocol
	squares := votesClip(p.Plans()) * votesClip(p.Plans()) / .12
	for _, view := range p.Views() {
		for adjacency, sensitivity := range map[accountant.Adjacency]float64{accountant.ZeroOut: 1, accountant.ReplaceOne: 2} {
			cost, err := p.Cost(view, adjacency, p.Releases())
			check(t, err)
			want := sensitivity * math.Sqrt(squares) / .5 * math.Sqrt(3/float64(view.Shares))
			if math.Abs(cost.Mu/want-1) > 1e-5 {
				t.Errorf("%s, %s: μ is %g, want %g", view.Name, adjacency, cost.Mu, want)
			}
		}
	}
}

// If all clients are alike and there is hardly any noise, q is close to the posterior of the pooled
// records. The few messages that are clipped hardly change its mean.
func TestClientScoresNearPooled(t *testing.T) {
	st := planeStudy(t, strings.Replace(scoringPrivacy, "0.5", "0.01", 1), scoringInference+"\ntarget = \"pooled\"\n", "nominal_records = 30")
	h := newHouse(t, st, 40, 1)
	for m := range h.sites {
		h.give(m, planeRecords(uint64(m), 0, 30))
	}
	h.run()
	kl, err := h.protocol.family.KL(h.server.Posterior(), h.pooled())
	if err != nil || !(kl < .05) {
		t.Errorf("KL to the pooled posterior is %g (%v)", kl, err)
	}
}

// A client that computes infinite or NaN values sends only noise, because others would see an
// error.
func TestClientScoresThatAreNotFinite(t *testing.T) {
	st := planeStudy(t, scoringPrivacy, scoringInference, "nominal_records = 15")
	h := newHouse(t, st, 3, 1)
	records := new(shard.Records)
	records.Append([]float64{.5, math.Inf(1)})
	h.give(0, records)
	plan, _ := h.server.Next()
	got := h.propose(0, &plan).Change
	noise := make([]int64, len(got))
	g, err := dpmech.NewDiscreteGaussian(h.protocol.method.Noise().Sigma)
	check(t, err)
	g.Fill(noise, seeded.Stream(h.seed, "noise", 0, uint64(plan.Number)))
	if !slices.Equal(got, noise) {
		t.Errorf("the message is %v, and its noise %v", got, noise)
	}
}

// Restore refuses states that no server or site can reach.
func TestClientScoresRestoreErrors(t *testing.T) {
	h := scoringHouse(t, 2, scoringPrivacy, "", "")
	for range 2 {
		plan, _ := h.server.Next()
		h.settle(h.answered(&plan))
	}
	h.refusesStates(map[string]func(v *siteState){
		"nothing was charged":             func(v *siteState) { v.Spent.Statistics = 0 },
		"more than the study pays for":    func(v *siteState) { v.Spent.Statistics = 3 },
		"λ does not follow":               func(v *siteState) { v.Lambda[0] = Wide{Hi: 1, Lo: 1} },
		"not a list of opened sums":       func(v *siteState) { v.Descent = v.Descent[1:] },
		"are not a list":                  func(v *siteState) { v.Descent = slices.Repeat(v.Descent, 4) },
		"a saved sum belongs to no round": func(v *siteState) { v.Descent = slices.Repeat(v.Descent, 2) },
		// Descent[8] is a number of answers. There are only two clients.
		"belongs to no round of the study":         func(v *siteState) { v.Descent[8] = 3 },
		"elements of the factor: 1 is not between": func(v *siteState) { v.Factor = make([]Wide, 1) },
	})
}

// The standard deviations that Foresee predicts are close to those of a real federation.
func TestClientScoresForesee(t *testing.T) {
	st := planeStudy(t, strings.Replace(scoringPrivacy, "0.5", "2.0", 1), scoringInference, "nominal_records = 30")
	h := newHouse(t, st, 60, 1)
	for m := range h.sites {
		h.give(m, planeRecords(uint64(m), 0, 30))
	}
	h.run()
	_, variance, err := h.protocol.family.Marginals(h.server.Posterior())
	check(t, err)
	foreseen, err := h.protocol.method.(method.Foreseeing).Foresee(9, 1, func(_, _ int) error { return nil })
	check(t, err)
	for i, share := range foreseen {
		sd := share * h.protocol.model.Parameters.Prior(i).SD
		if ratio := math.Sqrt(variance[i]) / sd; ratio < .67 || ratio > 1.5 {
			t.Errorf("coordinate %d has sd %g, and %g was foreseen", i, math.Sqrt(variance[i]), sd)
		}
	}
	if again, err := h.protocol.method.(method.Foreseeing).Foresee(9, 1, func(_, _ int) error { return nil }); err != nil || !slices.Equal(again, foreseen) {
		t.Errorf("foreseen again: %v, want %v (%v)", again, foreseen, err)
	}
}
