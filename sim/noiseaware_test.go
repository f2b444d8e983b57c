package sim

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

// calibration returns the study of the calibration experiment with overrides, made small enough for
// a test.
func calibration(t *testing.T, overrides ...study.Override) *study.Study {
	t.Helper()
	path := filepath.Join("..", "experiments", "calibration", "simulated.toml")
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	small := []study.Override{{Key: "simulation.synthetic.records_per_client", Value: "400"}, {Key: "inference.steps", Value: "40"}}
	st := parse(t, path, string(source), append(small, overrides...)...)
	return st
}

func playOut(t *testing.T, st *study.Study, seed uint64, workers int) (*Play, *Result) {
	t.Helper()
	p := prepare(t, st, Options{Seed: seed, Workers: workers})
	r := run(t, p)
	return p, r
}

// The last round must be charged, and must leave q unchanged.
func TestNoiseAwareResult(t *testing.T) {
	clients := study.Override{Key: "simulation.clients", Value: "3"}
	p, r := playOut(t, calibration(t, clients), 1, 1)
	a := r.NoiseAware
	if a == nil || a.Method != "one-step" || len(a.Coefficients) != 5 || r.Privacy.Releases != 41 || !r.Privacy.LastRelease {
		t.Fatalf("noise-aware %+v, releases %d", a, r.Privacy.Releases)
	}
	if e := r.Privacy.Epsilon; e > 1 || e < 0.999 {
		t.Errorf("ε = %g was spent, the target is 1", e)
	}
	mean, cov, err := p.Federation.Protocol.After()[0].Posterior(p.Federation.LastOutcome, p.Federation.Protocol.Method().(method.Stepped).ClosedFormNoise())
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range a.Coefficients {
		sd := math.Sqrt(cov.At(i, i))
		if c.NoiseAware.Mean != mean[i] || c.NoiseAware.SD != sd || math.Abs(c.NoiseAware.Q95-mean[i]-1.6448536269514722*sd) > 1e-12 || math.Abs(c.NoiseAware.Upper-mean[i]-1.959963984540054*sd) > 1e-12 {
			t.Errorf("%s: %+v, want N(%g, %g²)", c.Name, c.NoiseAware, mean[i], sd)
		}
		if c.DataOnly.Mean != r.Posterior[i].Mean || c.DataOnly.SD != r.Posterior[i].SD || c.NoiseAware.SD <= 0 {
			t.Errorf("%s: %+v beside %+v", c.Name, c.DataOnly, r.Posterior[i])
		}
	}
	h := &History{Points: []Point{{Outcome: 4}}}
	p.ObserveLast(h, r)
	if len(h.Points) != 2 || h.Points[1].Outcome != 5 || *h.Points[1].Epsilon != r.Privacy.Epsilon {
		t.Errorf("the last outcome is not in the history: %+v", h.Points)
	}
	if !slices.Equal(r.Natural, p.Federation.Server.Posterior()) || p.Federation.LastOutcome.Verdict != pvi.Accepted {
		t.Error("the last round moved q, or was void")
	}
	if _, again := playOut(t, calibration(t, clients), 1, 3); !slices.Equal(again.NoiseAware.Mean, a.Mean) {
		t.Error("workers change the noise-aware posterior")
	}
	if err := p.Federation.Run(context.Background(), func(*pvi.Outcome) error { return nil }); err != nil || p.Federation.Releases(0) != 41 {
		t.Errorf("a run that was over released again: %d, %v", p.Federation.Releases(0), err)
	}
}

// The closed form must widen every interval and leave every mean unchanged. There must be no
// noise-aware posterior if the study does not ask for one, or before its end.
func TestNoiseAwareForms(t *testing.T) {
	with := func(how string) study.Override {
		return study.Override{Key: "inference.noise_aware", Value: how}
	}
	_, r := playOut(t, calibration(t, with(`"closed-form"`)), 2, 1)
	for i, c := range r.NoiseAware.Coefficients {
		if c.NoiseAware.Mean != r.Posterior[i].Mean || c.NoiseAware.SD <= c.DataOnly.SD {
			t.Errorf("%s: %+v beside %+v", c.Name, c.NoiseAware, c.DataOnly)
		}
	}
	if _, r := playOut(t, calibration(t, with(`"none"`)), 2, 1); r.NoiseAware != nil {
		t.Errorf("the study requests no noise-aware posterior, but the result has one: %+v", r.NoiseAware)
	}
	p := prepare(t, calibration(t), Options{Seed: 2})
	early, err := p.Federation.Result(p.Reference)
	if err != nil || early.NoiseAware != nil || early.Privacy.LastRelease {
		t.Errorf("before the end: %+v, %v", early.NoiseAware, err)
	}
}

// Truth must agree with a fit of many records. It must be nil if there is no single θ.
func TestTruth(t *testing.T) {
	slow(t)
	st := calibration(t, study.Override{Key: "simulation.synthetic.records_per_client", Value: "20000"})
	p := prepare(t, st, Options{Seed: 5})
	mean, cov, err := p.Reference.Moments()
	if err != nil || len(p.Truth) != 5 {
		t.Fatalf("%v, %v", p.Truth, err)
	}
	for i, truth := range p.Truth {
		// The sds of the mean-field approximation are more than half the posterior's sds, so 8 of
		// them are at least 4 posterior sds.
		if math.Abs(mean[i]-truth) > 8*math.Sqrt(cov.At(i, i)) {
			t.Errorf("coefficient %d is %g, the fit is N(%g, %g)", i, truth, mean[i], cov.At(i, i))
		}
	}
	differ := calibration(t, study.Override{Key: "simulation.synthetic.client_sd", Value: "0.5"})
	if p, err = NewPlay(differ, Options{Seed: 5}); err != nil || p.Truth != nil {
		t.Errorf("clients differ and have the truth %v, %v", p.Truth, err)
	}
}

func TestCovered(t *testing.T) {
	p := &Play{Truth: []float64{0, 1, 2, 3}}
	got := p.covered([]float64{1.6, 1, 2 - 1.65, 3 - 3.28}, []float64{1, 1, 1, 4})
	if got != 0.75 {
		t.Errorf("%g of four are covered, want three", got)
	}
}

// In ten small data sets with five coefficients each, the one-step intervals must contain the truth
// far more often than those of q, and in at least 30 of the 50 cases. If the true coverage is 80 %,
// they fall short of 30 with probability 10⁻³.
func TestNoiseAwareCoversMore(t *testing.T) {
	var plain, aware float64
	for seed := range uint64(10) {
		p, _ := playOut(t, calibration(t), seed+100, 1)
		a, b, err := p.Coverage()
		if err != nil {
			t.Fatal(err)
		}
		plain += a / 10
		aware += b / 10
	}
	if aware < 0.6 || aware < plain+0.1 {
		t.Errorf("noise-aware coverage is %g, plain %g", aware, plain)
	}
}

// The result must include the variance of q's means over the last half of the rounds.
func TestIterates(t *testing.T) {
	st := calibration(t,
		study.Override{Key: "inference.noise_aware", Value: "iterates"},
		study.Override{Key: "inference.rounds", Value: "40"},
		study.Override{Key: "inference.steps", Value: "1"})
	p := prepare(t, st, Options{Seed: 1, Workers: 1})
	f := p.Federation
	var means [][]float64
	r, err := p.Run(context.Background(), func(Status) error {
		mean, _, err := f.Protocol.Family().Moments(f.Server.Posterior())
		means = append(means, mean)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, cov := moments(t, f.Protocol.Family(), f.Server.Posterior())
	for i := range means[0] {
		var column []float64
		for _, m := range means[20:] {
			column = append(column, m[i])
		}
		want := cov.At(i, i) + stat.Variance(column, nil)
		if got := r.NoiseAware.Covariance[i][i]; math.Abs(got-want) > 1e-12*want || want <= cov.At(i, i) {
			t.Errorf("variance %d: %g, want %g", i, got, want)
		}
		if r.NoiseAware.Mean[i] != means[39][i] {
			t.Errorf("mean %d differs from the mean of the posterior", i)
		}
	}
}
