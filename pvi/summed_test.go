package pvi

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

func summedProtocol(t testing.TB, clients, rounds int, federation string, overrides ...study.Override) *Protocol {
	t.Helper()
	return protocolFor(t, clients, descentStudy, append([]study.Override{
		set("federation", `{ max_records = 5000, opens = "sums"`+federation+` }`),
		set("inference", fmt.Sprintf("{ rounds = %d, step_size = 0.1 }", rounds)),
	}, overrides...)...)
}

// summedHouse returns a house whose clients together have n records. Client deal(i) has record i.
func summedHouse(t testing.TB, p *Protocol, n int, deal func(i int) int) *house {
	t.Helper()
	records := make([]*shard.Records, len(p.roster.Clients))
	for m := range records {
		records[m] = new(shard.Records)
	}
	for i := range n {
		x, y := dealt(i)
		records[deal(i)].Append([]float64{x, y})
	}
	var shards []*shard.Shard
	for _, r := range records {
		shards = append(shards, shard.Design(p.study, r))
	}
	return houseOf(t, p, 1, shards...)
}

// plainDescent runs DP-SVI on the pooled records, without lattice, state machines or engine. The
// function noise returns the noise in the sum of a round.
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
			gradient[k] = sum[k] - point[k] // log N(0, 1) has gradient −point
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

// If only sums are opened, the posterior is that of DP-SVI on the pooled records with the same
// noise.
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

func TestSummedMachines(t *testing.T) {
	p := summedProtocol(t, 4, 6, `, min_clients = 2, colluders = 1`)
	machinesAgree(t, func() *house { return summedHouse(t, p, 50, func(i int) int { return i % 4 }) })
}

// A client refuses a plan that it has answered, that asks too few clients, or whose λ differs by
// more than a rounding error. After its last release it refuses any plan.
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

// Suppose a release fails because the mechanism has no steps left. It is charged all the same, and
// not tried again.
func TestSummedReleaseThatFails(t *testing.T) {
	p := summedProtocol(t, 3, 3, "")
	h := summedHouse(t, p, 30, func(i int) int { return i % 3 })
	s := h.sites[0]
	var used method.Memory
	s.client.Save(&used)
	used.Spent.Statistics = 3 // the mechanism permits only three releases
	check(t, s.client.Restore(&used))
	// forgetful hides three releases from the site. The site therefore asks its client for another
	// one, which the mechanism refuses.
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

// The test makes sums with too few answers, of the wrong length, or with an element that is too
// large for the number of answers.
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
		o := h.answered(&plan)
		edit(o)
		var refused *Refused
		if err := h.sites[0].Settle(o); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Observers differ in the number of noise shares that they do not know. A coalition of t clients
// does not know U_min − t; for it the noise in a sum has standard deviation σC, and the cost is the
// target. An outsider knows none of U_min shares, and a reader of messages does not know the one
// share in a message.
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

// The cost is that of the Poisson-sampled Gaussian mechanism, counting only the noise that the
// observer does not know.
func TestSummedSampled(t *testing.T) {
	p := summedProtocol(t, 10, 30, `, min_clients = 8, colluders = 3`, set("inference.sampling_rate", "0.2"))
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

// The noise multiplier is the standard deviation of the noise relative to the clipping bound. It
// counts the noise of U_min − t clients if only sums are opened, and of one client if anyone may
// read messages.
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
	p := summedProtocol(t, 2, 3, "", set("inference", `{ rounds = 3, optimiser = "sgd", step_size = 1e200 }`))
	h := summedHouse(t, p, 30, func(i int) int { return i % 2 })
	before := slices.Clone(h.server.Lambda())
	h.run()
	if !h.server.Done() || !slices.Equal(before, h.server.Lambda()) {
		t.Errorf("λ moved from %v to %v", before, h.server.Lambda())
	}
}

// Restore refuses states that no server or site can reach.
func TestSummedRestoreErrors(t *testing.T) {
	h := summedHouse(t, summedProtocol(t, 2, 4, ""), 30, func(i int) int { return i % 2 })
	plan, _ := h.server.Next()
	h.settle(h.answered(&plan))
	h.refusesStates(map[string]func(v *siteState){
		"nothing was charged":                      func(v *siteState) { v.Spent.Statistics = 0 },
		"more than the study pays for":             func(v *siteState) { v.Spent.Statistics = 2 },
		"λ does not follow":                        func(v *siteState) { v.Lambda[0] = Wide{Hi: 1, Lo: 1} },
		"λ has 1 elements":                         func(v *siteState) { v.Lambda = v.Lambda[:1] },
		"not the state of a descent":               func(v *siteState) { v.Descent = v.Descent[1:] },
		"a state of":                               func(v *siteState) { v.Descent = v.Descent[:40] },
		"numbers of steps are impossible":          func(v *siteState) { v.Descent[7] = 0x7f },
		"a number that is not finite":              func(v *siteState) { copy(v.Descent[16:], []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}) },
		"elements of the factor: 1 is not between": func(v *siteState) { v.Factor = make([]Wide, 1) },
	})
}

func FuzzRestoreSummed(f *testing.F) {
	h := summedHouse(f, summedProtocol(f, 2, 3, ""), 10, func(i int) int { return i % 2 })
	plan, _ := h.server.Next()
	h.propose(0, &plan)
	fuzzRestore(f, h, func(t *testing.T, s *Site, state []byte) {
		if s.Releases() != memoryIn(t, state).Spent.Statistics {
			t.Fatal("a site forgot its releases")
		}
	})
}
