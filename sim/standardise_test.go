package sim

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/study"
)

// The bounds in this study are a hundred times too wide, so the noise hides the posterior. With a
// scale phase, which takes a tenth of the same budget, the posterior must come within 8 nats of the
// pooled posterior, in the median over seven seeds.
func TestPoorBounds(t *testing.T) {
	slow(t)
	median := func(settings ...string) float64 {
		t.Helper()
		var kls []float64
		for seed := uint64(1); seed <= 7; seed++ {
			st, path := experiment(t, "standardise/poor-bounds.toml", settings...)
			play := prepare(t, st, Options{StudyFile: path, Seed: seed})
			r := run(t, play)
			if e := r.Privacy.Epsilon; e > 2 || e < 2*(1-1e-6) {
				t.Errorf("%v: the run costs ε = %g, the target is 2", settings, e)
			}
			kls = append(kls, *r.KL)
		}
		slices.Sort(kls)
		return kls[len(kls)/2]
	}
	public, private := median("model.standardise=bounds", "standardise="), median()
	t.Logf("median KL: %.4g nats on public bounds, %.3g on the scale that was found", public, private)
	if public < 1000 || private > 8 {
		t.Errorf("median KL is %g nats on public bounds and %g on the scale that was found, want above 1000 and below 8", public, private)
	}
}

// For each column, the scale phase estimates the mean and sd of the values, clamped to the bounds
// of the last pass. The estimates must be right, up to the noise of that pass. The bound for each
// of twelve numbers is 6 sds. For a random seed, a correct program violates one of the bounds with
// probability 2·10⁻⁸. The cost to every observer must include the scale phase.
func TestStandardisedRun(t *testing.T) {
	slow(t)
	for _, c := range []struct {
		settings []string
		views    int
	}{
		{nil, 2},
		{[]string{"privacy.adjacency=replace-one"}, 2},
		{[]string{"privacy.unit=client", "privacy.delta=1e-3", "privacy.epsilon=2000", "federation.min_clients=18", "federation.colluders=2", "standardise.budget_share=0.5"}, 8},
	} {
		st, path := experiment(t, "standardise/poor-bounds.toml", c.settings...)
		play := newPlay(t, st, path, 1)
		r := run(t, play)
		bounds, holders := lastPass(t, st, path, play.Federation.Scale)
		for k, s := range r.Scale {
			checkFound(t, play.Federation.Protocol, s, bounds[k], columnOf(st, holders, k))
		}
		// Each pass and each client must have its own noise.
		first, second := play.Federation.Scale.Outcomes[0].Sum, play.Federation.Scale.Outcomes[1].Sum
		for i, n := range first {
			if n == second[i] || i > 0 && n == first[i-1] {
				t.Fatalf("%v: two releases have the same noise", c.settings)
			}
		}
		if len(r.Privacy.Views) != c.views || r.Privacy.ScaleReleases != 3 || r.Privacy.Epsilon > st.Privacy.Epsilon {
			t.Errorf("%v: privacy %+v", c.settings, r.Privacy)
		}
		// The cost to every observer, in μ², must be the sum of the costs of the rounds and of the
		// passes.
		p := play.Federation.Protocol
		for _, v := range r.Privacy.Views {
			for _, view := range p.Views() {
				if view.Name != v.View {
					continue
				}
				rounds, err := accountant.Account(accountant.Repeated{Event: p.Method().(method.Single).Mechanism().EventFor(view.Shares, v.Adjacency), Times: r.Privacy.Releases})
				if err != nil {
					t.Fatal(err)
				}
				passes, err := accountant.Account(p.Before()[0].EventFor(view.Shares, v.Adjacency))
				if err != nil {
					t.Fatal(err)
				}
				if want := math.Hypot(rounds.Mu(), passes.Mu()); math.Abs(v.Mu/want-1) > 1e-9 || passes.Mu() == 0 {
					t.Errorf("%v, %s, %s: μ = %g, want %g", c.settings, v.View, v.Adjacency, v.Mu, want)
				}
			}
		}
	}
}

// lastPass repeats the scale phase of a run and checks that its passes have the outcomes in found.
// It returns the bounds of the columns in the last pass, and the clients with their records.
func lastPass(t *testing.T, st *study.Study, path string, found *Standardisation) ([]study.Bounds, []Holder) {
	t.Helper()
	c := castOf(t, st, path, st.Simulation.Seed)
	var roster []pvi.ClientID
	for _, h := range c.holders {
		roster = append(roster, h.ID)
	}
	scaling, err := scale.New(st, roster)
	if err != nil {
		t.Fatal(err)
	}
	var sites []*scale.Site
	for _, h := range c.holders {
		site, err := scale.NewSite(scaling, h.ID, h.Records)
		if err != nil {
			t.Fatal(err)
		}
		sites = append(sites, site)
	}
	server := scale.NewServer(scaling)
	var bounds []study.Bounds
	for n := range scaling.Passes() {
		plan, _ := server.Next()
		bounds = plan.Bounds
		o, err := scalePass(server, sites, &plan, st.Simulation.Seed, nil)
		if err != nil || !slices.Equal(o.Sum, found.Outcomes[n].Sum) {
			t.Fatalf("pass %d is not the same again: %v", n+1, err)
		}
	}
	return bounds, c.holders
}

func columnOf(st *study.Study, holders []Holder, k int) [][]float64 {
	values := make([][]float64, len(holders))
	for m, h := range holders {
		for i := range h.Records.Len() {
			values[m] = append(values[m], h.Records.Row(i)[st.Standardisation.Columns[k]])
		}
	}
	return values
}

// checkFound compares the estimated mean and sd of a column with those of its values, which it
// first clamps to the column's bounds b in the last pass and maps to [-1, 1]. If the privacy unit
// is the client, all clients have the same weight. Otherwise all records do.
func checkFound(t *testing.T, p *pvi.Protocol, found scale.Column, b study.Bounds, values [][]float64) {
	t.Helper()
	middle, half := (b.Low+b.High)/2, (b.High-b.Low)/2
	var mean, square, count float64
	for _, of := range values {
		for _, x := range of {
			z, weight := (min(max(x, b.Low), b.High)-middle)/half, 1.0
			if p.Study().Privacy.Unit == study.Client {
				weight = 1 / float64(len(of))
			}
			mean, square, count = mean+weight*z, square+weight*z*z, count+weight
		}
	}
	mean, square = mean/count, square/count
	m := p.Before()[0].Mechanism(p.Before()[0].Passes())
	noise := m.Lattice().Float(m.ShareSigma()) * math.Sqrt(float64(len(values))) / count
	z := (found.Mean - middle) / half
	// The number of records, by which the estimates are divided, is noisy too.
	sd := noise * math.Sqrt(1+max(mean*mean, square*square))
	if math.Abs(z-mean) > 6*sd || found.SD > 0 && math.Abs(z*z+found.SD*found.SD/(half*half)-square) > 6*sd {
		t.Errorf("found %+v between %+v: mean and mean square %g and %g on that scale are those of the records, %g and %g, but for noise of sd %g",
			found, b, z, z*z+found.SD*found.SD/(half*half), mean, square, sd)
	}
	if n := found.Bounds; n.High-n.Low > 200 || !(n.Low < found.Mean && found.Mean < n.High) {
		t.Errorf("found %+v: public bounds of 2000 and 6000 are hardly narrower", found)
	}
}

func TestStandardisedWithoutPrivacy(t *testing.T) {
	var first []byte
	for _, workers := range []int{1, 3} {
		st, path := experiment(t, "standardise/poor-bounds.toml", NonPrivate...)
		play := newPlay(t, st, path, workers)
		r := run(t, play)
		if *r.KL > 1e-9 || r.Scale[0].Finding != scale.Found || r.Privacy.Promise != nil {
			t.Errorf("KL %g, scale %+v, privacy %+v", *r.KL, r.Scale, r.Privacy)
		}
		bits, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && string(first) != string(bits) {
			t.Error("three workers give another result than one")
		}
		first = bits
		// Only few of the about 40,000 values are more than four sds from the mean.
		if play.Report.Beyond["bilirubin"] > 40 {
			t.Errorf("%v values lie beyond mean ± 4 sd", play.Report.Beyond)
		}
	}
}

func TestScaleNotes(t *testing.T) {
	st, path := experiment(t, "standardise/poor-bounds.toml", "standardise.budget_share=0.00001", "simulation.synthetic.records_per_client=50")
	r := run(t, newPlay(t, st, path, 1))
	if len(r.Notes) != 4 || r.Scale[0].Bounds.High < 100 {
		t.Errorf("notes %q on scale %+v", r.Notes, r.Scale)
	}
}

// The plan of a study with a scale phase must use the public bounds, and must state the noise and
// the cost that the run then has.
func TestPlanOfStandardisation(t *testing.T) {
	st, path := experiment(t, "standardise/poor-bounds.toml")
	planned, err := Protocol(st, 0)
	if err != nil {
		t.Fatal(err)
	}
	played := newPlay(t, st, path, 1).Federation.Protocol
	a, err := planned.Costs(1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := played.Costs(1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a {
		if math.Abs(a[i].Epsilon/b[i].Epsilon-1) > 1e-6 {
			t.Errorf("the plan costs %+v, the run %+v", a[i], b[i])
		}
	}
	if planned.Digest() == played.Digest() || planned.Before()[0].Digest() != played.Before()[0].Digest() {
		t.Error("a plan has the identity of a run, or another scaling")
	}
}
