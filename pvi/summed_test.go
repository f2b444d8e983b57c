package pvi

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/memory"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

func summedProtocol(t testing.TB, clients, rounds int, federation string, overrides ...study.Override) *Protocol {
	t.Helper()
	overrides = append([]study.Override{
		{Key: "federation", Value: `{ max_records = 5000, opens = "sums"` + federation + ` }`},
		{Key: "inference", Value: fmt.Sprintf("{ rounds = %d, step_size = 0.1 }", rounds)},
	}, overrides...)
	st, err := study.Parse("s.toml", []byte(descentStudy), overrides...)
	check(t, err)
	roster := make([]ClientID, clients)
	for m := range roster {
		roster[m] = clientID(m)
	}
	p, err := NewProtocol(st, roster)
	check(t, err)
	return p
}

// summedHouse returns a server and the sites of all clients (see house). The sites have n records
// together, and record i belongs to client deal(i).
func summedHouse(t testing.TB, p *Protocol, n int, deal func(i int) int) *house {
	t.Helper()
	h := &house{t: t, protocol: p, server: NewServer(p), seed: 1}
	records := make([]*shard.Records, len(p.roster.Clients))
	for m := range records {
		records[m] = new(shard.Records)
	}
	for i := range n {
		x, y := dealt(i)
		records[deal(i)].Append([]float64{x, y})
	}
	for m, id := range p.Roster() {
		h.shards = append(h.shards, shard.Design(p.study, records[m]))
		site, err := p.NewSite(id, h.shards[m])
		check(t, err)
		h.sites = append(h.sites, site)
	}
	return h
}

func dealt(i int) (x, y float64) {
	x = math.Sin(float64(i))
	if math.Sin(float64(7*i)) < x {
		y = 1
	}
	return x, y
}

// plainDescent is a simple implementation of DP-SVI on the pooled records, without lattice, state
// machines or engine. noise returns the noise of a round's sum.
func plainDescent(p *Protocol, n int, noise func(round int) []float64) (mean, precision []float64) {
	const beta1, beta2, tiny = 0.9, 0.999, 1e-8
	rounds, first := p.study.Inference.Rounds, stepsOf(p).StepSize
	point := []float64{0, 0, math.Log(0.03), math.Log(0.03)} // means of q, then log sds of q
	m, v, total := make([]float64, 4), make([]float64, 4), make([]float64, 4)
	averaged := 0.0
	epsilon := make([]float64, 2)
	for t := 1; t <= rounds; t++ {
		dpmech.FillPublicNormal(epsilon, "draw of θ", p.digest, t)
		sd := []float64{math.Exp(point[2]), math.Exp(point[3])}
		theta := []float64{point[0] + sd[0]*epsilon[0], point[1] + sd[1]*epsilon[1]}
		sum := noise(t)
		for i := range n {
			x, y := dealt(i)
			residual := y - 1/(1+math.Exp(-theta[0]-theta[1]*x))
			g := []float64{residual, residual * x}
			shorter := min(1, stepsOf(p).Clip/math.Hypot(g[0], g[1]))
			sum[0] += shorter * g[0]
			sum[1] += shorter * g[1]
		}
		gradient := make([]float64, 4)
		for k := range 2 {
			gradient[k] = sum[k] - point[k] // the prior is N(0, 1), whose log density has gradient −point
			gradient[2+k] = sd[k]*epsilon[k]*sum[k] + 1 - sd[k]*sd[k]
		}
		step := first + (0.05-1)*first*float64(t-1)/float64(rounds-1)
		for k, g := range gradient {
			m[k] = beta1*m[k] + (1-beta1)*g
			v[k] = beta2*v[k] + (1-beta2)*g*g
			point[k] += step * m[k] / (1 - math.Pow(beta1, float64(t))) / (math.Sqrt(v[k]/(1-math.Pow(beta2, float64(t)))) + tiny)
		}
		if 2*t > rounds {
			averaged++
			for k, x := range point {
				total[k] += x
			}
		}
	}
	for k := range 2 {
		mean = append(mean, total[k]/averaged)
		precision = append(precision, math.Exp(-2*total[2+k]/averaged))
	}
	return mean, precision
}

// The test checks that a study in which only sums over clients are opened computes the same
// posterior as DP-SVI on the pooled records with the same noise.
func TestSummedIsPooledDescent(t *testing.T) {
	const clients, records = 5, 400
	p := summedProtocol(t, clients, 40, `, min_clients = 4, colluders = 1`)
	h := summedHouse(t, p, records, func(i int) int { return i * i % clients })
	h.run()
	g, err := dpmech.NewDiscreteGaussian(steppedOf(p).Sampled().ShareSigma())
	check(t, err)
	mean, precision := plainDescent(p, records, func(round int) []float64 {
		sum, share := make([]float64, 2), make([]int64, 2)
		for m := range clients {
			src := seeded.Stream(h.seed, "noise", uint64(m), uint64(round))
			sampling, noise := new(dpmech.Stream), new(dpmech.Stream)
			dpmech.Split(sampling, src)
			dpmech.Split(noise, src)
			g.Fill(share, noise)
			for k, n := range share {
				sum[k] += p.messages.Lattice.Float(n)
			}
		}
		return sum
	})
	for k := range 2 {
		got, want := h.server.Posterior()[2+k], precision[k]
		if math.Abs(got/want-1) > 1e-6 {
			t.Errorf("precision %d is %.12g, by hand %.12g", k, got, want)
		}
		if got, want := h.server.q.mean()[k], mean[k]; math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("mean %d is %.12g, by hand %.12g", k, got, want)
		}
	}
}

// The test checks that the bits of the posterior do not depend on how the records are divided among
// clients.
func TestSummedDoesNotDependOnTheSplit(t *testing.T) {
	const clients = 6
	var first []Wide
	for _, deal := range []func(int) int{
		func(i int) int { return i % clients },
		func(i int) int { return i * i % clients },
		func(int) int { return 3 },
	} {
		p := summedProtocol(t, clients, 12, "")
		h := summedHouse(t, p, 100, deal)
		h.run()
		if first == nil {
			first = slices.Clone(h.server.Lambda())
		}
		if !slices.Equal(first, h.server.Lambda()) {
			t.Error("another partition leads to another posterior")
		}
	}
}

// The server and all sites have the same λ even if answers are late or missing, rounds are void,
// and machines are killed and restored at any time. Only opened answers affect λ, and every
// answer is charged.
func TestSummedMachines(t *testing.T) {
	const clients = 4
	p := summedProtocol(t, clients, 6, `, min_clients = 2, colluders = 1`)
	rapid.Check(t, func(rt *rapid.T) {
		h := summedHouse(t, p, 50, func(i int) int { return i % clients })
		twin := NewServer(p) // a server that is never restored, for comparison
		answers := make([]int, clients)
		for plan, ok := h.server.Next(); ok; plan, ok = h.server.Next() {
			if _, ok := twin.Next(); !ok {
				rt.Fatal("the twin has no plan")
			}
			late := rapid.IntRange(0, clients).Draw(rt, "missing")
			var outcome *Outcome
			for m := range clients {
				release := h.propose(m, &plan)
				answers[m]++
				h.restart(m)
				if m < late {
					continue
				}
				o, err := h.server.Collect(release)
				check(rt, err)
				if _, err := twin.Collect(release); err != nil {
					rt.Fatal(err)
				}
				outcome = o
				h.restart(-1)
			}
			if outcome == nil {
				var err error
				outcome, err = h.server.Close(plan.Number)
				check(rt, err)
				if _, err := twin.Close(plan.Number); err != nil {
					rt.Fatal(err)
				}
			}
			if void := outcome.Verdict == Void; void != (clients-late < 2) || void != (outcome.Sum == nil) {
				rt.Fatalf("%d answers: %s", clients-late, outcome.Verdict)
			}
			h.settle(outcome)
			for m, s := range h.sites {
				if !slices.Equal(s.q.lambda, h.server.Lambda()) || !slices.Equal(twin.Lambda(), h.server.Lambda()) {
					rt.Fatalf("machines disagree after plan %d", plan.Number)
				}
				if s.Releases() != answers[m] {
					rt.Fatalf("%d answers of client %d, %d charged", answers[m], m, s.Releases())
				}
				h.restart(m)
			}
			h.restart(-1)
		}
	})
}

// restart replaces site m by a site that is restored from its saved state. If m is negative, it
// replaces the server.
func (h *house) restart(m int) {
	h.t.Helper()
	if m < 0 {
		state, err := h.server.MarshalBinary()
		check(h.t, err)
		h.server, err = RestoreServer(h.protocol, state)
		check(h.t, err)
		return
	}
	state, err := h.sites[m].MarshalBinary()
	check(h.t, err)
	site := h.newSite(h.sites[m].ID(), m)
	check(h.t, site.Restore(state))
	if site.Releases() != h.sites[m].Releases() {
		h.t.Fatal("the mechanism forgot its releases")
	}
	h.sites[m] = site
}

// The test checks which plans a client refuses: those that it has answered, that name too few
// clients, or whose λ differs from the client's own by more than rounding, and any plan after its
// last planned release.
func TestSummedRefusals(t *testing.T) {
	const clients = 4
	p := summedProtocol(t, clients, 3, `, min_clients = 3`)
	for _, c := range []struct {
		name    string
		edit    func(s *Site, plan *Plan)
		refused bool
	}{
		{"as it is", func(*Site, *Plan) {}, false},
		{"answered", func(s *Site, plan *Plan) {
			check(t, s.Propose(new(Release), plan, seeded.Stream(1, "noise")))
		}, true},
		{"too few", func(_ *Site, plan *Plan) { plan.Participants = plan.Participants[:2] }, true},
		{"another λ", func(_ *Site, plan *Plan) { plan.Lambda[3] = plan.Lambda[3].Add(lambda.Product(1<<48, 1)) }, true},
		{"another mean", func(_ *Site, plan *Plan) { plan.Lambda[0] = plan.Lambda[0].Add(lambda.Product(1<<44, 1)) }, true},
		{"λ up to rounding", func(_ *Site, plan *Plan) {
			plan.Lambda[0] = plan.Lambda[0].Add(lambda.Product(1<<20, 1))
			plan.Lambda[3] = plan.Lambda[3].Add(lambda.Product(1<<20, -1))
		}, false},
		{"short λ", func(_ *Site, plan *Plan) { plan.Lambda = plan.Lambda[:3] }, true},
		{"spent", func(s *Site, _ *Plan) { s.client = spentClient{s.client, 3} }, true},
	} {
		h := summedHouse(t, p, 30, func(i int) int { return i % clients })
		plan, _ := h.server.Next()
		c.edit(h.sites[0], &plan)
		var refused *Refused
		err := h.sites[0].Propose(new(Release), &plan, seeded.Stream(2, "noise"))
		if errors.As(err, &refused) != c.refused || !c.refused && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

type forgetful struct {
	method.Client
	forgotten int
}

func (c forgetful) Spent() method.Spent {
	return method.Spent{Statistics: c.Client.Spent().Statistics - c.forgotten}
}

// If a release fails, it is charged and its plan is not answered again. Here it fails because
// the mechanism has no step left.
func TestSummedReleaseThatFails(t *testing.T) {
	p := summedProtocol(t, 3, 3, "")
	h := summedHouse(t, p, 30, func(i int) int { return i % 3 })
	s := h.sites[0]
	var used method.Memory
	s.client.Save(&used)
	used.Spent.Statistics = 3 // the mechanism permits only three releases
	check(t, s.client.Restore(&used))
	// forgetful makes the site believe that three releases were not made. The site therefore asks
	// its client for another release, and the mechanism refuses it.
	s.client = forgetful{s.client, 3}
	plan, _ := h.server.Next()
	r := &Release{Change: []int64{1, 2}}
	if err := s.Propose(r, &plan, seeded.Stream(1, "noise")); !errors.Is(err, dpmech.ErrNoSteps) || len(r.Change) != 0 {
		t.Fatalf("a release beyond those that were planned: %v, %v", r.Change, err)
	}
	var refused *Refused
	if err := s.Propose(r, &plan, seeded.Stream(1, "noise")); !errors.As(err, &refused) || s.Releases() != 1 {
		t.Errorf("the plan again: %v, %d releases charged, want 1", err, s.Releases())
	}
}

// A site refuses an outcome whose sum covers too few answers, has a wrong size, or has an element
// that is too large for its number of answers.
func TestSummedOutcomesRefused(t *testing.T) {
	const clients = 3
	p := summedProtocol(t, clients, 2, `, min_clients = 2`)
	for name, edit := range map[string]func(o *Outcome){
		"too few answers": func(o *Outcome) { o.Participants = o.Participants[:1] },
		"too long":        func(o *Outcome) { o.Sum = append(o.Sum, 0) },
		"too large":       func(o *Outcome) { o.Sum[1] = 3*p.messages.Limit() + 1 },
		"void and open":   func(o *Outcome) { o.Verdict = Void },
		"rejected":        func(o *Outcome) { o.Verdict = Rejected },
	} {
		h := summedHouse(t, p, 30, func(i int) int { return i % clients })
		plan, _ := h.server.Next()
		var o *Outcome
		for m := range clients {
			var err error
			o, err = h.server.Collect(h.propose(m, &plan))
			check(t, err)
		}
		edit(o)
		var refused *Refused
		if err := h.sites[0].Settle(o); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The test compares the cost for every observer and adjacency with the formula of the Gaussian
// mechanism. The observers differ in the number of noise shares that they do not know. A coalition
// of t clients does not know U_min − t shares, whose sum has sd σC, so its cost is the target. An
// outsider knows none of the U_min shares. An observer of single messages sees records with only
// one share.
func TestSummedViews(t *testing.T) {
	const clients, fewest, colluders = 20, 12, 3
	p := summedProtocol(t, clients, 50, fmt.Sprintf(`, min_clients = %d, colluders = %d`, fewest, colluders))
	n := p.method.Noise()
	if got, want := n.SD, n.Multiplier*n.Clip/math.Sqrt(fewest-colluders); got < want || got > want*(1+1e-6) {
		t.Errorf("a share has sd %.10g, want %.10g", got, want)
	}
	shares := map[string]float64{"coalition": fewest - colluders, "participant": fewest - 1, "outside": fewest, "coordinator": 1}
	views := p.Views()
	if len(views) != len(shares) || views[0].Name != "coalition" {
		t.Fatalf("views %+v", views)
	}
	for _, v := range views {
		for _, adjacency := range p.Adjacencies() {
			cost, err := p.Cost(v, adjacency, p.Releases())
			check(t, err)
			mu := adjacency.Factor() * math.Sqrt(50) * n.Clip / (n.SD * math.Sqrt(shares[v.Name]))
			if want := accountant.GaussianEpsilon(mu, 1e-5); math.Abs(cost.Epsilon/want-1) > 1e-3 {
				t.Errorf("%s, %s: ε = %g, by the formula %g", v.Name, adjacency, cost.Epsilon, want)
			}
		}
	}
	target, err := p.Cost(views[0], accountant.AddRemove, p.Releases())
	if err != nil || target.Epsilon > 1 || target.Epsilon < 0.999 {
		t.Errorf("the target is ε = 1 against the coalition, got %g, %v", target.Epsilon, err)
	}
}

// The test checks that the cost of a study with sampled batches equals that of the Poisson-sampled
// Gaussian mechanism with the same noise, for every observer.
func TestSummedSampled(t *testing.T) {
	p := summedProtocol(t, 10, 30, `, min_clients = 8, colluders = 3`, study.Override{Key: "inference.sampling_rate", Value: "0.2"})
	n := p.method.Noise()
	for _, v := range p.Views() {
		cost, err := p.Cost(v, accountant.AddRemove, p.Releases())
		check(t, err)
		want := account(t, accountant.Repeated{Event: accountant.Poisson{
			Rate: 0.2, Sigma: n.SD * math.Sqrt(float64(v.Shares)) / n.Clip, Adjacency: accountant.AddRemove,
		}, Times: 30})
		if math.Abs(cost.Epsilon/want-1) > 1e-3 {
			t.Errorf("%s: ε = %g, by the formula %g", v.Name, cost.Epsilon, want)
		}
	}
	h := summedHouse(t, p, 300, func(i int) int { return i % 10 })
	h.run()
	if h.sites[0].Releases() != 30 {
		t.Errorf("%d releases", h.sites[0].Releases())
	}
}

// The noise multiplier is the sd, in clips, of the noise of a certain number of clients together.
// The test checks this number: U_min − t if only sums are opened, and 1 if anyone may read every
// message.
func TestSummedScaling(t *testing.T) {
	p := summedProtocol(t, 5, 2, `, min_clients = 4`)
	if s := p.setting.Shares(); s != 4 {
		t.Fatalf("%d shares", s)
	}
	messages := descentProtocol(t)
	if s := messages.setting.Shares(); s != 1 {
		t.Errorf("messages that anyone reads have %d shares of noise", s)
	}
}

// An outcome after which the descent diverges is rejected and does not change q.
func TestSummedDivergence(t *testing.T) {
	p := summedProtocol(t, 2, 3, "", study.Override{Key: "inference", Value: `{ rounds = 3, optimiser = "sgd", step_size = 1e200 }`})
	h := summedHouse(t, p, 30, func(i int) int { return i % 2 })
	before := slices.Clone(h.server.Lambda())
	h.run()
	if !h.server.Done() || !slices.Equal(before, h.server.Lambda()) {
		t.Errorf("λ moved from %v to %v", before, h.server.Lambda())
	}
}

// Restore refuses states that no server or site can reach.
func TestSummedRestoreErrors(t *testing.T) {
	p := summedProtocol(t, 2, 4, "")
	h := summedHouse(t, p, 30, func(i int) int { return i % 2 })
	plan, _ := h.server.Next()
	for m := range h.sites {
		o, err := h.server.Collect(h.propose(m, &plan))
		check(t, err)
		if o != nil {
			h.settle(o)
		}
	}
	good, err := h.sites[0].MarshalBinary()
	check(t, err)
	for name, edit := range map[string]func(v *siteState){
		"nothing was charged":                      func(v *siteState) { v.Spent.Statistics = 0 },
		"more than the study pays for":             func(v *siteState) { v.Spent.Statistics = 2 },
		"λ does not follow":                        func(v *siteState) { v.Lambda[0] = Wide{Hi: 1, Lo: 1} },
		"λ has 1 elements":                         func(v *siteState) { v.Lambda = v.Lambda[:1] },
		"not the state of a descent":               func(v *siteState) { v.Descent = v.Descent[1:] },
		"a state of":                               func(v *siteState) { v.Descent = v.Descent[:40] },
		"numbers of steps are impossible":          func(v *siteState) { v.Descent[7] = 0x7f },
		"a number that is not finite":              func(v *siteState) { copy(v.Descent[16:], []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}) },
		"elements of the factor: 1 is not between": func(v *siteState) { v.Factor = make([]Wide, 1) },
	} {
		var v siteState
		check(t, json.Unmarshal(good, &v))
		edit(&v)
		bad, err := json.Marshal(v)
		check(t, err)
		site, err := p.NewSite(clientID(0), h.shards[0])
		check(t, err)
		if err := site.Restore(bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want an error with %q", err, name)
		}
	}
}

// FuzzRestoreSummed restores servers and sites from arbitrary bytes. A server or site that
// accepts the bytes as its state must be able to continue.
func FuzzRestoreSummed(f *testing.F) {
	p := summedProtocol(f, 2, 3, "")
	h := summedHouse(f, p, 10, func(i int) int { return i % 2 })
	plan, _ := h.server.Next()
	h.propose(0, &plan)
	server, _ := h.server.MarshalBinary()
	site, _ := h.sites[0].MarshalBinary()
	f.Add(server)
	f.Add(site)
	restore := func(t testing.TB, ofServer, ofSite []byte) (s *Server, site *Site, serverFails, siteFails error) {
		s, serverFails = RestoreServer(p, ofServer)
		site, err := p.NewSite(clientID(0), h.shards[0])
		check(t, err)
		return s, site, serverFails, site.Restore(ofSite)
	}
	fixed := memory.Allocated(func() { restore(f, server, site) })
	f.Fuzz(func(t *testing.T, state []byte) {
		memory.Beside(t, fixed, len(state), func() { restore(t, state, state) })
		s, site, err, siteFails := restore(t, state, state)
		if err == nil {
			s.Next()
			for _, n := range s.Open() {
				if _, err := s.Close(n); err != nil {
					t.Fatal(err)
				}
			}
		}
		if siteFails == nil && site.Releases() != memoryIn(t, state).Spent.Statistics {
			t.Fatal("a site forgot its releases")
		}
	})
}
