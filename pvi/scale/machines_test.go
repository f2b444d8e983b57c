package scale

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/internal/testing/scalestudy"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// ball returns n records with two independent normal columns.
func ball(seed uint64, n int, mean, sd float64) *shard.Records {
	r := rand.New(rand.NewPCG(seed, 1))
	return spread(n, func() float64 { return mean + sd*r.NormFloat64() })
}

// Without a privacy guarantee, means and sds are those of the clamped values.
func TestScaleExact(t *testing.T) {
	a, b := ball(1, 400, 7, 2), ball(2, 100, 3, 1)
	h := newScaleHouse(t, scalestudy.Parse(t, `unit = "none"`, "", ""), 1, a, b)
	st := h.play()
	var sum, squares float64
	for _, records := range []*shard.Records{a, b} {
		for i := range records.Len() {
			x := records.Row(i)[0]
			sum += x / 500
			squares += x * x / 500
		}
	}
	sd := math.Sqrt(squares - sum*sum)
	c := h.server.Columns()[0]
	if math.Abs(c.Mean-sum) > 1e-6 || math.Abs(c.SD-sd) > 1e-6 || c.Finding != Found {
		t.Errorf("found %+v, want mean %g and sd %g", c, sum, sd)
	}
	if s := st.Scales()[0]; math.Abs(s.Low-(sum-4*sd)) > 1e-3 || math.Abs(s.High-(sum+4*sd)) > 1e-3 {
		t.Errorf("the scale is %+v, want mean ± 4 sd = [%g, %g]", s, sum-4*sd, sum+4*sd)
	}
}

// A constant column keeps bounds of positive width and is not Found. Its state can be restored
// after many passes.
func TestScaleOfAConstant(t *testing.T) {
	for _, c := range []struct{ privacy, standardise string }{
		{`unit = "none"`, "rounds = 4"}, {`unit = "none"`, "rounds = 20"}, {scalestudy.Record, "rounds = 4"},
	} {
		privacy := c.privacy
		records := new(shard.Records)
		r := rand.New(rand.NewPCG(1, 1))
		for range 5000 {
			records.Append([]float64{42, 1, 3 * r.NormFloat64()})
		}
		h := newScaleHouse(t, scalestudy.Parse(t, privacy, c.standardise, ""), 1, records)
		st := h.play()
		if state, err := h.server.MarshalBinary(); err != nil {
			t.Error(err)
		} else if _, err := RestoreServer(h.server.scaling, state); err != nil {
			t.Error(err)
		}
		c := h.server.Columns()
		if c[0].Finding == Found || c[1].Finding == AtMost && privacy != scalestudy.Record {
			t.Errorf("%s: a constant column is %q, another %q", privacy, c[0].Finding, c[1].Finding)
		}
		s := st.Scales()[0]
		if !(s.Low < 42 && 42 < s.High) || s.High-s.Low < 200*narrowest {
			t.Errorf("%s: the scale of a column that is 42 is %+v", privacy, s)
		}
		if scaled := st.Scale(&st.Columns[0], 42); math.IsNaN(scaled) || math.Abs(scaled) > 1 {
			t.Errorf("%s: 42 is %g on the scale", privacy, scaled)
		}
	}
}

// With Cauchy tails, three passes find a scale within the public bounds that contains most values.
func TestScaleOfHeavyTails(t *testing.T) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 1))
		cauchy := func() float64 { return 10 + 0.2*r.NormFloat64()/r.NormFloat64() }
		h := newScaleHouse(t, scalestudy.Parse(t, scalestudy.Record, "", ""), seed, spread(10_000, cauchy))
		for _, s := range h.play().Scales() {
			// Half of the values are within 0.2 of 10, and 98 % within 6.4.
			if s.Low > 9 || s.High < 11 || s.High-s.Low > 60 {
				t.Errorf("seed %d: the scale of a heavy-tailed column is %+v", seed, s)
			}
		}
	}
}

// With too few records or clients, or too little budget, the bounds stay wide and no column is
// Found.
func TestScaleHidden(t *testing.T) {
	tiny := scalestudy.Parse(t, scalestudy.Record, "budget_share = 0.0001", "")
	few := scalestudy.Parse(t, scalestudy.Record, "", "")
	for seed := range uint64(20) {
		for _, h := range []*scaleHouse{
			newScaleHouse(t, tiny, seed, ball(1, 500, 5, 1)),
			newScaleHouse(t, few, seed, ball(1, 20, 5, 1), new(shard.Records)),
			newScaleHouse(t, scalestudy.Parse(t, scalestudy.Client, "", ""), seed, ball(1, 50, 5, 1), ball(2, 50, 5, 1), ball(3, 50, 5, 1)),
		} {
			st := h.play()
			for k, s := range st.Scales() {
				f := h.server.Columns()[k].Finding
				if f == Found || s.High < 6 || s.Low > 4 || s.High-s.Low < 20 {
					t.Errorf("seed %d: noise made the scale %+v, %q", seed, s, f)
				}
			}
		}
	}
}

// A thousand clients of equal weight find a scale. The released mean and mean square are, up to
// noise, the averages over clients. Each of four numbers may be off by 6 sds, which a correct
// program exceeds for 8 of 10^9 seeds.
func TestScaleOfClients(t *testing.T) {
	clients := make([]*shard.Records, 1000)
	for m := range clients {
		n, at := 1, 5.0
		if m%10 == 0 {
			n, at = 300, 7 // A tenth of the clients have nearly all records.
		}
		clients[m] = ball(uint64(m), n, at, 0.5)
	}
	st := scalestudy.Parse(t, "unit = \"client\"\nepsilon = 100\ndelta = 1e-5", "budget_share = 0.3", "min_clients = 950\ncolluders = 20")
	h := newScaleHouse(t, st, 1, clients...)
	for range h.scaling.Passes() - 1 {
		h.pass()
	}
	before := h.server.scale.bounds()
	h.play()
	last := &h.scaling.moments
	noise := last.lattice.Float(last.mechanism.ShareSigma()) / math.Sqrt(1000) // sd of the noise in the mean over clients
	for k, c := range h.server.Columns() {
		b := before[k]
		mean, square, ofRecords := meansOfClients(clients, 2*k, b)
		half := (b.High - b.Low) / 2
		z := (c.Mean - middleOf(b)) / half
		found := (c.SD/half)*(c.SD/half) + z*z // mean square of the scaled values
		if math.Abs(z-mean) > 6*noise || math.Abs(found-square) > 6*noise {
			t.Errorf("%+v: mean and mean square differ by %g and %g sds from the averages of the clients", c, (z-mean)/noise, (found-square)/noise)
		}
		if math.Abs(ofRecords-mean) < 100*noise {
			t.Errorf("the mean over records differs by only %g sds, so the test cannot tell it from the mean over clients", (ofRecords-mean)/noise)
		}
		// Found, because the variance exceeds 6 sds of the noise.
		if sure := 4*noise*(1+2*math.Abs(mean)) + 6*noise*(1+2*math.Abs(mean)); square-mean*mean < sure || c.Finding != Found {
			t.Errorf("%+v: the variance is %g on the scale, sure from %g on", c, square-mean*mean, sure)
		}
	}
	// The clip bounds the norm of a client's average, for any number of records.
	if got := h.scaling.Mechanism(3).Clip(); got != 2 {
		t.Errorf("a client's clip is %g, want √(2·2)", got)
	}
}

// meansOfClients returns the averages over clients of a column's mean and mean square, and the mean
// over all records, of values clamped to b and mapped to [-1, 1].
func meansOfClients(clients []*shard.Records, column int, b study.Bounds) (mean, square, ofRecords float64) {
	all := 0
	for _, records := range clients {
		for i := range records.Len() {
			z := (min(max(records.Row(i)[column], b.Low), b.High) - middleOf(b)) / ((b.High - b.Low) / 2)
			weight := 1 / float64(records.Len()*len(clients))
			mean, square, ofRecords = mean+weight*z, square+weight*z*z, ofRecords+z
			all++
		}
	}
	return mean, square, ofRecords / float64(all)
}

// If too few clients answer a pass, the bounds do not change, and the pass is charged.
func TestScaleVoid(t *testing.T) {
	st := scalestudy.Parse(t, scalestudy.Record, "", "min_clients = 2")
	h := newScaleHouse(t, st, 1, ball(1, 3000, 5, 1), ball(2, 3000, 5, 1), ball(3, 3000, 5, 1))
	o := h.pass(1)
	if o.Verdict != phase.Void || o.Sum != nil || !slices.Equal(h.server.scale.bounds(), st.PublicScale()) {
		t.Errorf("a pass with one answer of three is %+v", o)
	}
	if o := h.pass(0, 2); o.Verdict != phase.Accepted || h.server.Columns()[0].Bounds.High == 100 {
		t.Errorf("a pass with two answers ended as %q, with the bounds %+v", o.Verdict, h.server.Columns()[0])
	}
	if _, err := h.server.Scaled(); err == nil || !strings.Contains(err.Error(), "2 of 3 passes") {
		t.Errorf("a scale before the last pass: %v", err)
	}
	h.pass()
	if got := h.sites[1].Passes(); got != 3 {
		t.Errorf("a client that answered three passes is charged %d", got)
	}
	if _, ok := h.server.Next(); ok {
		t.Error("there is a fourth pass")
	}
}

func TestScaleRefuses(t *testing.T) {
	st := scalestudy.Parse(t, scalestudy.Record, "", "min_clients = 2")
	h := newScaleHouse(t, st, 1, ball(1, 200, 5, 1), ball(2, 200, 5, 1))
	other := newScaleHouse(t, scalestudy.Parse(t, scalestudy.Record, "rounds = 4", "min_clients = 2"), 1, ball(1, 200, 5, 1), ball(2, 200, 5, 1))
	refused := func(what string, err error) {
		t.Helper()
		var r *phase.Refused
		if !errors.As(err, &r) {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	collect := func(r *Release) error { _, err := h.server.Collect(r); return err }
	release := new(Release)
	propose := func(plan Plan) error {
		return h.sites[0].Propose(release, &plan, seeded.Stream(1, "refuses"))
	}
	_, err := h.server.Close()
	refused("closing what is not open", err)
	refused("a release before a plan", collect(&Release{Scaling: h.scaling.digest, Number: 1, Client: "c00"}))
	plan, _ := h.server.Next()
	if _, again := h.server.Next(); again {
		t.Error("a plan is issued while one is open")
	}

	bad := plan
	bad.Scaling = other.scaling.digest
	refused("a plan of another scaling", propose(bad))
	bad = plan
	bad.Number = 2
	refused("a later plan", propose(bad))
	bad = plan
	bad.Bounds = []study.Bounds{{Low: -1, High: 1}, {Low: -1, High: 1}}
	refused("a plan with bounds of its own", propose(bad))
	if h.sites[0].Passes() != 0 || len(release.Sum) != 0 {
		t.Error("a refused plan was charged or answered")
	}
	check(t, propose(plan))
	first := *release
	refused("a second answer", propose(plan))

	for what, change := range map[string]func(*Release){
		"another scaling":  func(r *Release) { r.Scaling = other.scaling.digest },
		"another pass":     func(r *Release) { r.Number = 2 },
		"a stranger":       func(r *Release) { r.Client = "z" },
		"a short sum":      func(r *Release) { r.Sum = r.Sum[1:] },
		"a sum too large":  func(r *Release) { r.Sum = slices.Clone(r.Sum); r.Sum[1] = math.MaxInt64 },
		"a sum too little": func(r *Release) { r.Sum = slices.Clone(r.Sum); r.Sum[1] = math.MinInt64 },
	} {
		r := first
		change(&r)
		refused("a release of "+what, collect(&r))
	}
	check(t, collect(&first))
	refused("a release twice", collect(&first))
	if w := h.server.Waiting(); !slices.Equal(w, []phase.ClientID{"c01"}) {
		t.Errorf("the server waits for %v", w)
	}
	o, err := h.server.Collect(h.propose(1, &plan))
	if err != nil || o == nil {
		t.Fatal(err)
	}

	for what, change := range map[string]func(*Outcome){
		"another scaling":   func(o *Outcome) { o.Scaling = other.scaling.digest },
		"another pass":      func(o *Outcome) { o.Number = 2 },
		"strangers":         func(o *Outcome) { o.Participants = []phase.ClientID{"c00", "z"} },
		"a void sum":        func(o *Outcome) { o.Verdict = phase.Void },
		"an unknown end":    func(o *Outcome) { o.Verdict = phase.Rejected },
		"too few":           func(o *Outcome) { o.Participants = o.Participants[:1] },
		"a sum too large":   func(o *Outcome) { o.Sum = slices.Clone(o.Sum); o.Sum[0] = math.MaxInt64 },
		"a sum too short":   func(o *Outcome) { o.Sum = o.Sum[1:] },
		"an accepted blank": func(o *Outcome) { o.Sum = nil },
	} {
		bad := *o
		change(&bad)
		refused("an outcome of "+what, h.sites[0].Settle(&bad))
	}
	h.settle(o)
	refused("an outcome twice", h.sites[0].Settle(o))
	if _, ok := h.server.Next(); !ok {
		t.Fatal("there is no second pass")
	}
	// an answer of this client that it did not give
	stranger := newScaleHouse(t, st, 1, ball(1, 200, 5, 1), ball(2, 200, 5, 1))
	refused("an outcome that counts an answer that was not given", stranger.sites[0].Settle(o))
}

func TestNewScalingErrors(t *testing.T) {
	wide := scalestudy.Parse(t, scalestudy.Record, "", "")
	wide.Federation.MaxRecords = 1 << 40
	plain, err := study.Parse("plane.toml", linestudy.Document(linestudy.Parts{Privacy: linestudy.NoPrivacy, Inference: "rounds = 6\n"}))
	check(t, err)
	for _, c := range []struct {
		name    string
		study   *study.Study
		clients int
		want    string
	}{
		{"no standardisation", plain, 2, "nothing is to be standardised"},
		{"roster", scalestudy.Parse(t, scalestudy.Record, "", "min_clients = 3"), 2, "fewer than federation.min_clients"},
		{"delta", scalestudy.Parse(t, "unit = \"client\"\nepsilon = 1\ndelta = 0.1", "", ""), 12, "delta = 0.1"},
		{"overflow", wide, 1 << 16, "overflow"},
	} {
		if _, err := New(c.study, rosterOf(c.clients)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
	}
	none := scalestudy.Parse(t, scalestudy.Client, "", "")
	scaling, err := New(none, []phase.ClientID{"a"})
	check(t, err)
	if _, err := NewSite(scaling, "b", ball(1, 5, 0, 1)); err == nil {
		t.Error("a client outside the roster has a site")
	}
}

// A client with any number of records answers, and the answer fits into a message.
func TestAnyNumberOfRecords(t *testing.T) {
	for _, target := range []string{scalestudy.Client, scalestudy.Record, `unit = "none"`} {
		for _, n := range []int{0, 1, 4, 5, 3000} {
			st := scalestudy.Parse(t, target, "", "")
			st.Federation.MaxRecords = 4
			h := newScaleHouse(t, st, 1, ball(1, n, 1e9, 1), ball(2, 3, 5, 1))
			h.play()
		}
	}
}

// If a coordinator changes a sum of opened messages, every client and verifier refuses the outcome.
// If it changes a release too, its client refuses.
func TestChangedSumsAreRefused(t *testing.T) {
	st := scalestudy.Parse(t, scalestudy.Record, "", "")
	st.Version = 2
	for name, c := range map[string]struct {
		lie     func(p *pass, size int)
		refused [3]bool
	}{
		"nothing":           {func(*pass, int) {}, [3]bool{}},
		"a sum":             {func(p *pass, _ int) { p.Sum[0] += 99 }, [3]bool{true, true, true}},
		"a release":         {func(p *pass, size int) { p.Releases[size]++ }, [3]bool{true, true, true}},
		"a release and sum": {func(p *pass, size int) { p.Releases[size]++; p.Sum[0]++ }, [3]bool{false, true, false}},
	} {
		h := newScaleHouse(t, st, 1, ball(1, 50, 5, 1), ball(2, 50, 5, 1), ball(3, 50, 5, 1))
		plan, _ := h.server.Next()
		var o *Outcome
		for m := range h.sites {
			if m == 2 {
				c.lie(h.server.open, h.scaling.Size(1))
				state, err := h.server.MarshalBinary()
				if err == nil {
					h.server, err = RestoreServer(h.scaling, state)
				}
				check(t, err)
			}
			var err error
			o, err = h.server.Collect(h.propose(m, &plan))
			check(t, err)
		}
		if len(o.Releases) != h.scaling.ReleasesSize(1) || len(o.Releases) == 0 {
			t.Fatalf("%s: %d elements of releases", name, len(o.Releases))
		}
		for m := range h.sites {
			if err := h.restored(m, ball(uint64(m+1), 50, 5, 1)).Settle(o); (err != nil) != c.refused[m] {
				t.Errorf("%s: client %d: %v", name, m, err)
			}
		}
		again := NewServer(h.scaling)
		again.Next()
		if _, err := again.Replay(o); (err != nil) != (c.refused == [3]bool{true, true, true}) {
			t.Errorf("%s: computed again: %v", name, err)
		}
	}
}
