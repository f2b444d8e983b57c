package tune

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

func selection(t testing.TB, o SelectionOptions) *Selection {
	t.Helper()
	if o.Score == "" {
		o.Score = LogLikelihood
	}
	s, err := NewSelection(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func choose(t testing.TB, o SelectionOptions) *Chosen {
	t.Helper()
	var spent []float64 // ε after each outcome of the chosen run
	c, err := selection(t, o).Run(context.Background(), func(int, int) {}, func(_ *sim.Play, status sim.Status) error {
		if status.Outcome != nil {
			spent = append(spent, *status.Epsilon)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if all := c.Result.Privacy.Promise.Epsilon; len(spent) == 0 || slices.ContainsFunc(spent, func(e float64) bool { return e != all }) {
		t.Errorf("the repeated run reports a spending of %v, but all releases before it cost %g", spent, all)
	}
	return c
}

// The ε must cover all steps of all runs, and the scores.
func TestSelectionIsCharged(t *testing.T) {
	path := writeStudy(t, madeUp)
	c := choose(t, SelectionOptions{Study: path, Seed: 1, Workers: 2, Candidates: []string{"privacy.clip=0.5 inference.steps=5", "inference.damping=0.5"}})
	s := selection(t, SelectionOptions{Study: path, Seed: 1, Candidates: []string{"privacy.clip=0.5 inference.steps=5", "inference.damping=0.5"}})
	steps := []float64{200, 10, 200} // total number of steps in the run of each candidate
	squares := math.Pow(s.scores.NoiseMultiplier(), -2)
	for k, p := range s.protocols {
		squares += steps[k] / (p.Method().Noise().Multiplier * p.Method().Noise().Multiplier)
	}
	p := c.Result.Privacy.Promise
	if p.NoiseMultiplier != s.multiplier[c.Candidate] {
		t.Errorf("the run had noise of %g, %g is accounted", p.NoiseMultiplier, s.multiplier[c.Candidate])
	}
	if want := accountant.GaussianEpsilon(math.Sqrt(squares), 1e-5); math.Abs(p.Epsilon/want-1) > 1e-5 || p.Epsilon > 2 || p.Epsilon < 1.999 {
		t.Errorf("charged ε = %.9g, added up %.9g, target 2", p.Epsilon, want)
	}
	if want := accountant.GaussianEpsilon(2*math.Sqrt(squares), 1e-5); math.Abs(p.Views[1].Epsilon/want-1) > 1e-5 || p.Views[1].Adjacency != accountant.ReplaceOne {
		t.Errorf("with records replaced ε = %.9g, added up %.9g", p.Views[1].Epsilon, want)
	}
	if p.Proven.Epsilon != p.Epsilon || p.Claimed.Mu != p.Mu || p.Selection.Releases != 410 || len(p.Selection.Candidates) != 3 {
		t.Errorf("the promise is %+v", p)
	}
}

func TestSelectionOfSampledRuns(t *testing.T) {
	s := selection(t, SelectionOptions{Study: writeStudy(t, madeUp), Seed: 1, Candidates: []string{"inference.sampling_rate=0.2 inference.steps=20"}})
	got, _, err := s.cost(accountant.AddRemove)
	if err != nil {
		t.Fatal(err)
	}
	all := accountant.Composed{
		accountant.Gaussian{Sensitivity: 1, Sigma: s.scores.NoiseMultiplier(), Adjacency: accountant.AddRemove},
		accountant.Repeated{Event: accountant.Gaussian{Sensitivity: 1, Sigma: s.multiplier[0], Adjacency: accountant.AddRemove}, Times: 200},
		accountant.Repeated{Event: accountant.Poisson{Rate: 0.2, Sigma: s.multiplier[1], Adjacency: accountant.AddRemove}, Times: 40},
	}
	profile, err := accountant.Account(all)
	if err != nil {
		t.Fatal(err)
	}
	want, err := profile.Epsilon(1e-5)
	if err != nil || math.Abs(got/want.Upper-1) > 3e-4 || got > 2 || got < 1.99 {
		t.Errorf("ε = %g, composed by hand %g, target 2 (%v)", got, want.Upper, err)
	}
}

// With a large ε, the better candidate must be chosen wherever it is in the list. With a tiny ε,
// the choice must be random.
func TestSelectionChooses(t *testing.T) {
	path := writeStudy(t, madeUp)
	sgd := []string{"inference.optimiser=sgd", "inference.step_size=1e-9", "privacy.epsilon=100"}
	for seed := range uint64(2) {
		if c := choose(t, SelectionOptions{Study: path, Seed: seed, Settings: []string{"privacy.epsilon=100"}, Candidates: []string{"inference.step_size=1e-9"}}); c.Candidate != 0 {
			t.Errorf("seed %d: steps of nothing were chosen", seed)
		}
		if c := choose(t, SelectionOptions{Study: path, Seed: seed, Settings: sgd, Candidates: []string{"inference.step_size=0.02"}}); c.Candidate != 1 {
			t.Errorf("seed %d: steps of nothing were chosen before others", seed)
		}
	}
	// If both candidates are equally likely, the eight choices agree with probability 2⁻⁷.
	chosen := map[int]int{}
	for seed := range uint64(8) {
		chosen[choose(t, SelectionOptions{Study: path, Seed: seed, Settings: []string{"privacy.epsilon=0.01"}, Candidates: []string{"inference.step_size=1e-9"}}).Candidate]++
	}
	if chosen[0] == 0 || chosen[1] == 0 {
		t.Errorf("under ε = 0.01 the choice is always the same: %v", chosen)
	}
}

func TestSelectionIsDeterministic(t *testing.T) {
	path := writeStudy(t, madeUp)
	candidates := []string{"privacy.clip=0.3", "inference.steps=20"}
	one := choose(t, SelectionOptions{Study: path, Seed: 4, Workers: 1, Candidates: candidates})
	three := choose(t, SelectionOptions{Study: path, Seed: 4, Workers: 3, Candidates: candidates})
	if one.Candidate != three.Candidate || !slices.Equal(one.Result.Natural, three.Result.Natural) ||
		!slices.Equal(one.Result.Privacy.Promise.Selection.Totals, three.Result.Privacy.Promise.Selection.Totals) {
		t.Error("one worker and three differ")
	}
}

// differentResults returns one result per candidate. They have different posteriors, and so
// different scores.
func differentResults(s *Selection) (results []*sim.Result) {
	for k, p := range s.protocols {
		natural := slices.Clone(p.Prior())
		natural[0] += float64(k)
		results = append(results, &sim.Result{Natural: natural})
	}
	return results
}

// The variance of 120 variates lies outside the bounds with probability below 10⁻⁴.
func TestScoresHaveNoise(t *testing.T) {
	s := selection(t, SelectionOptions{Study: writeStudy(t, madeUp), Seed: 1, Score: Accuracy, Candidates: []string{"privacy.clip=1", "privacy.clip=2"}})
	results := differentResults(s)
	var squares, n float64
	for seed := range uint64(40) {
		rivals, err := sim.NewRivals(s.base, asideShare, sim.Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		totals, err := s.release(rivals, results)
		if err != nil {
			t.Fatal(err)
		}
		for _, aside := range rivals.Aside {
			vectors, err := s.vectors(aside, results)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range vectors { // scores are 0 or 1, so the clip has no effect
				for k, x := range v {
					totals[k] -= x
				}
			}
		}
		for _, noise := range totals {
			squares += noise * noise
			n++
		}
	}
	want := 3 * math.Pow(s.scores.Clip()*s.scores.NoiseMultiplier(), 2)
	if ratio := squares / n / want; ratio < 0.5 || ratio > 1.7 {
		t.Errorf("the noise of the scores has %g times the variance that is accounted", ratio)
	}
}

// One record has a group that does not exist. Its vector must be zero, and the others must not
// change.
func TestScoresOfRecordThatPanics(t *testing.T) {
	s := selection(t, SelectionOptions{
		Study: writeStudy(t, "synthetic.records_per_client = 20, synthetic.truth = { x = 3.0 }"), Seed: 1, Candidates: []string{"privacy.clip=2"},
		Settings: []string{`model={family = "logistic", outcome = "y", positive = "yes", terms = ["x"], groups = ["z"]}`},
	})
	rivals, err := sim.NewRivals(s.base, asideShare, sim.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	results := differentResults(s)
	others := rivals.Aside[0]
	with := others.Select(nil)
	with.Append([]float64{1, 7, 0})
	with.AppendAll(others)
	want, err := s.vectors(others, results)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.vectors(with, results)
	if err != nil || !slices.Equal(got[0], make([]float64, len(results))) || !slices.EqualFunc(got[1:], want, slices.Equal) {
		t.Errorf("%v: the vectors are %v, without the record %v", err, got, want)
	}
}

// If one record is removed, the sum may change by at most the clip, even if scores are huge or
// infinite.
func TestScoreSensitivity(t *testing.T) {
	m, err := newScores(3, 1, &study.Study{Privacy: study.Privacy{Adjacency: accountant.AddRemove}, Federation: study.Federation{MaxRecords: 100}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	scores := [][]float64{{0, 0, 1}, {-1e6, 0, 0}, {-3, -2, -1}, {0.1, 0.2, 0.1}, {-1e300, 0, 1}, {math.Inf(-1), 0, 0}, {1, 1, 0}}
	sum := func(without int) []float64 {
		dst, exact := make([]int64, 3), make([]int64, 3)
		err := m.Release(dst, exact, seeded.Stream(1, "test"), func(add func([]float64) error) error {
			for i, v := range scores {
				if i == without {
					continue
				}
				v := slices.Clone(v)
				centre(v)
				if err := add(v); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		out := make([]float64, 3)
		for k := range out {
			out[k] = m.Lattice().Float(exact[k])
		}
		return out
	}
	all, largest := sum(-1), 0.0
	for i := range scores {
		var squares float64
		for k, x := range sum(i) {
			squares += (x - all[k]) * (x - all[k])
		}
		largest = max(largest, math.Sqrt(squares))
	}
	if largest > m.Clip() || largest < 0.999*m.Clip() {
		t.Errorf("a record moves the sum by %g, the clip is %g", largest, m.Clip())
	}
}

// The total must then be the number of correct predictions.
func TestAccuracyIsNotClipped(t *testing.T) {
	for n := 2; n < 9; n++ {
		for bits := range 1 << n {
			v := make([]float64, n)
			for k := range v {
				v[k] = float64(bits >> k & 1)
			}
			centre(v)
			var squares float64
			for _, x := range v {
				squares += x * x
			}
			if squares > float64(n)/4+1e-12 {
				t.Fatalf("%d candidates: a norm of %g", n, math.Sqrt(squares))
			}
		}
	}
}

func TestSelectionRefusals(t *testing.T) {
	path := writeStudy(t, madeUp)
	for want, o := range map[string]SelectionOptions{
		`for unit = "record"`:      {Settings: []string{`privacy={unit = "client", epsilon = 1.0, delta = 1e-5, clip = 1.0}`, "inference.steps="}, Draw: 3},
		"only sums are opened":     {Settings: []string{"federation.opens=sums", "inference.steps="}, Draw: 3},
		"write privacy.epsilon":    {Settings: []string{"privacy.epsilon=", "privacy.noise_multiplier=2"}, Draw: 3},
		"leave nothing to choose":  {Draw: 1},
		`cannot set "prior.sd=3"`:  {Candidates: []string{"prior.sd=3"}},
		"model.standardise":        {Settings: []string{"model.standardise=private"}, Draw: 3},
		"inference.steps: ":        {Candidates: []string{"inference.steps=0.5"}},
		"needs an outcome that is": {Score: Accuracy, Draw: 2, Settings: []string{`model={family = "linear", outcome = "x", terms = ["z"], noise_sd = "learned"}`}},
	} {
		o.Study = path
		if _, err := NewSelection(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
