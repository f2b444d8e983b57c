package sim

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/pvi"
)

// With bounds a hundred times too wide noise hides everything; a standardisation
// for a tenth of the same budget brings the posterior to where that of the pooled
// records is, as far as privacy lets it. Medians over seeds 1 to 7.
func TestPoorBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic of one thread: without -short")
	}
	median := func(settings ...string) float64 {
		t.Helper()
		var kls []float64
		for seed := uint64(1); seed <= 7; seed++ {
			st, path := experiment(t, "standardise/poor-bounds.toml", settings...)
			play, err := NewPlay(st, Options{StudyFile: path, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			r := run(t, play)
			if e := r.Privacy.Epsilon; e > 2 || e < 2*(1-1e-6) {
				t.Errorf("%v: the run costs ε = %g, the target is 2", settings, e)
			}
			kls = append(kls, r.KL)
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

// The scale that comes out is that of the records, its cost is in every view, and
// the result says both.
func TestStandardisedRun(t *testing.T) {
	for _, c := range []struct {
		settings []string
		views    int
	}{
		{nil, 2},
		{[]string{"privacy.adjacency=replace-one"}, 2},
		{[]string{"privacy.unit=client", "privacy.delta=1e-3", "privacy.epsilon=2000", "federation.min_clients=18", "federation.colluders=2", "standardise.budget_share=0.5"}, 6},
	} {
		st, path := experiment(t, "standardise/poor-bounds.toml", append(c.settings, "simulation.seed=5")...)
		play := newPlay(t, st, path, 1)
		r := run(t, play)
		for k, want := range []struct{ mean, sd float64 }{{10.1, 3.9}, {25, 6.5}} {
			s := r.Scale[k]
			if s.Finding != pvi.Found || math.Abs(s.Mean-want.mean) > 1.5 || math.Abs(s.SD/want.sd-1) > 0.4 {
				t.Errorf("%v: found %+v, want mean %g and sd %g", c.settings, s, want.mean, want.sd)
			}
		}
		// The noise of a pass is that pass's own, and that of a client its own.
		first, second := play.Federation.Scale.Outcomes[0].Sum, play.Federation.Scale.Outcomes[1].Sum
		for i, n := range first {
			if n == second[i] || i > 0 && n == first[i-1] {
				t.Fatalf("%v: noise was used twice", c.settings)
			}
		}
		if len(r.Privacy.Views) != c.views || r.Privacy.ScaleReleases != 3 || r.Privacy.Epsilon > st.Privacy.Epsilon {
			t.Errorf("%v: privacy %+v", c.settings, r.Privacy)
		}
		// μ² of the rounds alone, by the formula, is below that of every view by the passes'.
		p := play.Federation.Protocol
		for _, v := range r.Privacy.Views {
			for _, view := range p.Views() {
				if view.Name != v.View {
					continue
				}
				rounds, err := accountant.Account(accountant.Repeated{Event: p.Mechanism().EventFor(view.Shares, v.Adjacency), Times: r.Privacy.Releases})
				if err != nil {
					t.Fatal(err)
				}
				passes, err := accountant.Account(p.Scaling().EventFor(view.Shares, v.Adjacency))
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

// Without a promise the scale is exact and free, on whatever workers.
func TestStandardisedWithoutPrivacy(t *testing.T) {
	var first []byte
	for _, workers := range []int{1, 3} {
		st, path := experiment(t, "standardise/poor-bounds.toml", NonPrivate...)
		play := newPlay(t, st, path, workers)
		r := run(t, play)
		if r.KL > 1e-9 || r.Scale[0].Finding != pvi.Found || r.Privacy.Promise != nil {
			t.Errorf("KL %g, scale %+v, privacy %+v", r.KL, r.Scale, r.Privacy)
		}
		bits, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && string(first) != string(bits) {
			t.Error("three workers give another result than one")
		}
		first = bits
		if play.Report.Beyond["bilirubin"] > 40 { // of 40,000, four sds off
			t.Errorf("%v values lie beyond mean ± 4 sd", play.Report.Beyond)
		}
	}
}

// A scale that noise hides is said to be, in notes that name the column and the way out.
func TestScaleNotes(t *testing.T) {
	st, path := experiment(t, "standardise/poor-bounds.toml", "standardise.budget_share=0.00001", "simulation.synthetic.records_per_client=50")
	r := run(t, newPlay(t, st, path, 1))
	if len(r.Notes) != 3 || r.Scale[0].Bounds.High < 100 {
		t.Errorf("notes %q on scale %+v", r.Notes, r.Scale)
	}
}

// A plan stands on the public bounds until the scale is known, with the noise and the
// cost that the run will have.
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
	if planned.Digest() == played.Digest() || planned.Scaling().Digest() != played.Scaling().Digest() {
		t.Error("a plan has the identity of a run, or another scaling")
	}
}
