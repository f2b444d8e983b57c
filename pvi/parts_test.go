package pvi

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

func partsProtocol(t testing.TB, inference, privacy string, overrides ...study.Override) *Protocol {
	t.Helper()
	source := strings.NewReplacer("rounds = 5, steps = 3", inference, "epsilon = 1.0", privacy).Replace(descentStudy)
	return protocolFor(t, 2, source, overrides...)
}

// schemes lists every way to use partitions, with exact and with tied factors.
var schemes = []string{
	`partitioned = "virtual", factors = "exact"`,
	`partitioned = "virtual", factors = "tied"`,
	`partitioned = "averaged", factors = "exact"`,
	`partitioned = "averaged", factors = "tied"`,
}

// A record belongs to one part, and changes that part's clipped change by at most 2C, where C is
// the clipping bound. The cost follows from this and must meet the target.
func TestPartsMeetTheirTarget(t *testing.T) {
	for _, scheme := range schemes {
		for _, adjacency := range []accountant.Adjacency{accountant.AddRemove, accountant.ReplaceOne} {
			p := partsProtocol(t, "rounds = 7, partitions = 4, "+scheme, `epsilon = 1.0, clip = 3.0, adjacency = "`+string(adjacency)+`"`)
			want := accountant.GaussianEpsilon(2*math.Sqrt(7)/p.method.Noise().Multiplier, 1e-5)
			for _, a := range p.Adjacencies() {
				cost, err := p.Cost(p.Views()[0], a, p.Releases())
				check(t, err)
				if p.Releases() != 7 || cost.Epsilon > 1 || cost.Epsilon < 0.998 || math.Abs(cost.Epsilon/want-1) > 1e-4 {
					t.Errorf("%s: ε = %.9g under %s in %d releases, by the formula %.9g", scheme, cost.Epsilon, a, p.Releases(), want)
				}
			}
		}
	}
}

func TestPartsClip(t *testing.T) {
	if clip := partsProtocol(t, "rounds = 1, partitions = 4", "epsilon = 1.0, clip = 3.0").method.Noise().Clip; clip != 3 {
		t.Errorf("clip is %g", clip)
	}
	p := partsProtocol(t, "rounds = 1, partitions = 4", "epsilon = 1.0", set("federation.nominal_records", "200"))
	// Fifty records of length 1 have natural parameters of 0.25 each. The clipping bound is half of
	// their sum.
	if want := 50 * 0.25 / 2; p.method.Noise().Clip != want {
		t.Errorf("the derived clip is %g, want %g", p.method.Noise().Clip, want)
	}
}

// Suppose two clients differ in one extreme record, and have the same parts, transcript and random
// bits. Then only the part with that record differs. Their sums must differ by at most 2C in every
// round, and by more than C in at least one.
func TestOneRecordMovesOnePart(t *testing.T) {
	for _, scheme := range schemes {
		st := planeStudy(t, "unit = \"record\"\nnoise_multiplier = 0.01\ndelta = 1e-5\nclip = 0.5", "partitions = 3\ndamping = 0.5\n"+strings.ReplaceAll(scheme, ", ", "\n"), "")
		p, err := NewProtocol(st, rosterOf(2))
		check(t, err)
		records := new(shard.Records)
		for range 6 {
			records.Append([]float64{0, -2})
		}
		records.Append([]float64{0, 10})
		whole := shard.Design(st, records)
		without, victim := pair(t, p, whole)
		sites := []*Site{site(t, p, whole), site(t, p, without)}
		server := NewServer(p)
		other, err := p.NewSite(clientID(1), shard.Design(st, planeRecords(1, 0, 30)))
		check(t, err)
		most := 0.0
		for plan, ok := server.Next(); ok; plan, ok = server.Next() {
			outcome, seen := playPair(t, server, sites, other, &plan)
			difference := 0.0
			for i := range seen[0].Change { // Both clients add the same noise.
				d := p.messages.Lattice.Float(seen[0].Change[i] - seen[1].Change[i])
				difference += d * d
			}
			most = max(most, math.Sqrt(difference))
			theirs := partsOf(t, sites[1]).Proposed
			for k, mine := range partsOf(t, sites[0]).Proposed {
				if k != victim && !slices.Equal(mine, theirs[k]) {
					t.Fatalf("%s: plan %d: part %d changed with a record of part %d", scheme, plan.Number, k, victim)
				}
			}
			for _, s := range append(sites, other) {
				check(t, s.Settle(outcome))
			}
		}
		if clip := p.method.Noise().Clip; most > 2*clip || most < 1.2*clip {
			t.Errorf("%s: sums differ by up to %g, clip %g", scheme, most, clip)
		}
	}
}

// pair returns a copy of whole without the last record, and the part that this record would be in.
func pair(t *testing.T, p *Protocol, whole *shard.Shard) (without *shard.Shard, victim int) {
	t.Helper()
	// The client first draws its noise, and then a part for each record.
	trial := site(t, p, whole)
	plan, _ := NewServer(p).Next()
	check(t, trial.Propose(new(Release), &plan, seeded.Stream(3, "noise")))
	of := make([]uint16, whole.Len())
	of[whole.Len()-1] = 1
	return whole.Deal(of, 2)[0], int(partsOf(t, trial).of(whole.Len() - 1))
}

// playPair lets both sites answer the plan. Only the first answer goes to the server.
func playPair(t *testing.T, server *Server, sites []*Site, other *Site, plan *Plan) (*Outcome, [2]Release) {
	t.Helper()
	var seen [2]Release
	for world, s := range sites {
		check(t, s.Propose(&seen[world], plan, seeded.Stream(3+uint64(plan.Number-1), "noise")))
	}
	if !slices.Equal(memoryOf(sites[0]).Proposed, seen[0].Change) {
		t.Fatal("the client stores other numbers than the message that it sent and the changes of its parts")
	}
	copy(memoryOf(sites[len(sites)-1]).Proposed, seen[0].Change)
	var theirs Release
	check(t, other.Propose(&theirs, plan, seeded.Stream(4, "other", uint64(plan.Number))))
	_, err := server.Collect(&seen[0])
	check(t, err)
	outcome, err := server.Collect(&theirs)
	check(t, err)
	return outcome, seen
}

// Virtual clients store their changes without noise, so the factor of a part without records stays
// zero.
func TestVirtualFactorsHoldNoNoise(t *testing.T) {
	p := partsProtocol(t, `rounds = 3, damping = 1.0, partitions = 2, factors = "exact"`, "noise_multiplier = 5.0, clip = 0.5, coordinates = \"raw\"")
	server, s := NewServer(p), site(t, p, descentShard(p, 0))
	other, err := p.NewSite(clientID(1), descentShard(p, 30))
	check(t, err)
	for plan, ok := server.Next(); ok; plan, ok = server.Next() {
		outcome, _ := playPair(t, server, []*Site{s}, other, &plan)
		if outcome.Sum == nil {
			t.Fatal("no sum")
		}
		for _, one := range []*Site{s, other} {
			check(t, one.Settle(outcome))
		}
	}
	for k, factor := range partsOf(t, s).Factors {
		for i, w := range factor {
			if w != (Wide{}) {
				t.Errorf("without records, element %d of the factor of part %d is %v", i, k, w)
			}
		}
	}
}

// Each record is assigned to a part independently, with equal probabilities. Two neighbours in the
// file share a part as often as any other two records. (If parts were contiguous, removing a record
// would shift all later ones.) With 30,000 records in 10 parts, both counts have a standard
// deviation of 52. A correct program is off by more than seven standard deviations in one of 10¹¹
// tests.
func TestPartsAreDrawnRecordByRecord(t *testing.T) {
	source := strings.NewReplacer("rounds = 5, steps = 3", "rounds = 2, partitions = 10", "epsilon = 1.0", "epsilon = 1.0, clip = 1.0", "5000", "50000").Replace(descentStudy)
	p := protocolFor(t, 1, source)
	const n = 30000
	client, server := site(t, p, descentShard(p, n)), NewServer(p)
	deal := func() []byte {
		plan, _ := server.Next()
		r := new(Release)
		check(t, client.Propose(r, &plan, seeded.Stream(uint64(plan.Number), "parts")))
		outcome, err := server.Collect(r)
		if err == nil {
			err = client.Settle(outcome)
		}
		check(t, err)
		return partsOf(t, client).Of
	}
	first := deal()
	var counts [10]int
	together := 0
	drawn := partsOf(t, client)
	for i := range n {
		counts[drawn.of(i)]++
		if i > 0 && drawn.of(i) == drawn.of(i-1) {
			together++
		}
	}
	sd := math.Sqrt(n * 0.1 * 0.9)
	for part, count := range append(counts[:], together) {
		if math.Abs(float64(count)-n/10) > 7*sd {
			t.Errorf("%d: %d of %d, want a tenth", part, count, n)
		}
	}
	if !slices.Equal(first, deal()) {
		t.Error("the parts were drawn again")
	}
}

// Without clipping and with hardly any noise, virtual clients converge to the posterior of the
// pooled records. Averaging does too if the factor of a part is linear in its records.
func TestPartsSettleWherePooledRecordsDo(t *testing.T) {
	for _, scheme := range schemes {
		st := planeStudy(t, "unit = \"record\"\nnoise_multiplier = 0.001\ndelta = 1e-5\nclip = 20", "partitions = 3\ndamping = 0.5\n"+strings.ReplaceAll(scheme, ", ", "\n"), "")
		st.Inference.Rounds = 40
		h := newHouse(t, st, 3, 5)
		h.run()
		if kl := divergence(t, h.protocol.Family(), h.server.Posterior(), h.pooled()); kl > 2e-3 {
			t.Errorf("linear, %s: %g nats from the posterior of the pooled records", scheme, kl)
		}
		p := partsProtocol(t, `rounds = 80, damping = 0.3, partitions = 6, solver = "natural-gradient", q = "diagonal", `+scheme, "noise_multiplier = 0.001, clip = 10")
		if kl := fromPooled(t, p, 300, 100); kl > 2e-3 {
			t.Errorf("logistic, %s: %g nats from the fit of the pooled records", scheme, kl)
		}
	}
}

// fromPooled runs a study whose clients have n and m records, and returns how far its posterior
// diverges from a fit to the pooled records.
func fromPooled(t *testing.T, p *Protocol, n, m int) float64 {
	t.Helper()
	h := houseOf(t, p, 1, descentShard(p, n), descentShard(p, m))
	h.run()
	var all []solver.Likelihood
	for _, s := range h.shards {
		l, err := p.Likelihood(s)
		check(t, err)
		all = append(all, l)
	}
	want := make([]float64, p.Family().Size())
	if !solver.PooledDiagonal(want, p.Prior(), all) {
		t.Fatal("the pooled fit did not settle")
	}
	return divergence(t, p.Family(), h.server.Posterior(), want)
}

func divergence(t *testing.T, family gaussian.Family, q, p []float64) float64 {
	t.Helper()
	kl, err := family.KL(q, p)
	check(t, err)
	return kl
}

// The test covers synchronous and sequential schedules, empty parts, clients without records, and
// the random draws of SVI.
func TestPartsRestored(t *testing.T) {
	for _, scheme := range append(schemes, schemes[0]+`, schedule = "sequential"`, schemes[2]+`, schedule = "sequential"`) {
		p := partsProtocol(t, `rounds = 3, partitions = 4, solver = "svi", steps = 5, draws = 2, `+scheme, "noise_multiplier = 1.0, clip = 1.0")
		sameAfterRestarts(t, p, 1, descentShard(p, 6), descentShard(p, 0))
	}
}

func TestPartsRestoreRefuses(t *testing.T) {
	p := partsProtocol(t, `rounds = 3, partitions = 4, factors = "exact"`, "noise_multiplier = 1.0, clip = 1.0")
	h := houseOf(t, p, 1, descentShard(p, 10), descentShard(p, 10))
	plan, _ := h.server.Next()
	h.propose(0, &plan)
	h.restart(0)
	edits := map[string]func(v *siteState){
		"parts were released and are not there": func(v *siteState) { v.Parts = nil },
		"are there and were not released":       func(v *siteState) { v.Spent, v.Answered, v.Open, v.Centre = method.Spent{}, 0, 0, nil },
		"cannot be read":                        func(v *siteState) { v.Parts = []byte(`{"More":1}`) },
	}
	for says, spoil := range map[string]func(v *partsMemory){
		"a different number of records than the client has": func(v *partsMemory) { v.Of = v.Of[2:] },
		"beyond the 4":         func(v *partsMemory) { v.Of[1] = 1 },
		"factors and":          func(v *partsMemory) { v.Factors = v.Factors[1:] },
		"3 elements, want":     func(v *partsMemory) { v.Proposed[2] = make([]int64, 3) },
		"factor and proposal ": func(v *partsMemory) { v.Factors[0] = nil },
	} {
		edits[says] = func(v *siteState) {
			parts := partsIn(t, v.Parts)
			spoil(&parts)
			v.Parts, _ = json.Marshal(parts)
		}
	}
	h.refusesStates(edits)
	parts := memoryOf(h.sites[0]).Parts
	h = houseOf(t, descentProtocol(t), 1, h.shards...)
	plan, _ = h.server.Next()
	h.propose(0, &plan)
	h.refusesStates(map[string]func(v *siteState){"the study has none": func(v *siteState) { v.Parts = parts }})
}

// If only sums are opened, the noise of all clients together equals that of one release, and the
// cost is computed from that.
func TestPartsUnderSums(t *testing.T) {
	for _, scheme := range []string{schemes[0], schemes[1], schemes[3]} {
		p := partsProtocol(t, "rounds = 7, partitions = 4, "+scheme, "epsilon = 1.0, clip = 3.0", set("federation.opens", `"sums"`))
		views := p.Views()
		if len(views) != 3 || views[0].Shares != 2 || views[1].Shares != 1 || summed(p) {
			t.Fatalf("%s: views %+v", scheme, views)
		}
		want := accountant.GaussianEpsilon(2*math.Sqrt(7)/p.method.Noise().Multiplier, 1e-5)
		cost, err := p.Cost(views[0], accountant.AddRemove, p.Releases())
		if err != nil || cost.Epsilon > 1 || math.Abs(cost.Epsilon/want-1) > 1e-4 {
			t.Errorf("%s: ε = %.9g, by the formula %.9g; %v", scheme, cost.Epsilon, want, err)
		}
		if share := p.method.Noise().SD * math.Sqrt2 / p.method.Noise().Clip / p.method.Noise().Multiplier; math.Abs(share-1) > 1e-5 {
			t.Errorf("%s: two shares have %g of the noise", scheme, share)
		}
		if cost, err = p.Cost(views[1], accountant.AddRemove, p.Releases()); err != nil || cost.Epsilon < 1.3 {
			t.Errorf("%s: one message costs ε = %g; %v", scheme, cost.Epsilon, err)
		}
		sameAfterRestarts(t, p, 1, descentShard(p, 40), descentShard(p, 0))
	}
}

func TestPartsNeedSolversOfTheirOwn(t *testing.T) {
	p := partsProtocol(t, "rounds = 1, partitions = 4", "epsilon = 1.0, clip = 1.0")
	if _, err := p.NewSolver(descentShard(p, 10)); err == nil {
		t.Error("one solver for all parts")
	}
	if _, err := NewSolverSite(p, clientID(0), nil); err == nil {
		t.Error("a site of parts without parts")
	}
	if _, err := p.NewSite("nobody", descentShard(p, 10)); err == nil {
		t.Error("a site of a client that is not in the roster")
	}
}

// Averaging separate fits of the parts is biased, however little noise there is: n/K records
// counted K times have a likelihood of a different shape. Virtual clients refine each factor given
// the others, and come close to the pooled fit for any K. (TestPartsSettleWherePooledRecordsDo
// covers steps without this bias.)
func TestAveragingWholeFitsIsBiased(t *testing.T) {
	kl := func(scheme string, parts int) float64 {
		p := partsProtocol(t, `rounds = 25, damping = 0.3, solver = "svi", steps = 100, draws = 4, q = "diagonal", `+scheme+`, partitions = `+strconv.Itoa(parts), "noise_multiplier = 0.001, clip = 100")
		return fromPooled(t, p, 100, 60)
	}
	virtual, few, many := kl(schemes[0], 10), kl(schemes[2], 2), kl(schemes[2], 10)
	t.Logf("nats from the pooled fit: %.2g for 10 virtual clients, %.2g and %.2g averaged over 2 and 10 parts", virtual, few, many)
	if virtual > 0.01 || many < 10*virtual || many < 2*few {
		t.Errorf("virtual %g, averaged over 2 parts %g, over 10 %g", virtual, few, many)
	}
}
