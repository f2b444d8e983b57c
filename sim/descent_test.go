package sim

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

// Ten clients at ε = 1 must predict nearly as well as a fit without privacy. The bounds are about
// twice the gaps observed with several seeds.
func TestPrivateAdult(t *testing.T) {
	slow(t)
	st, path := experiment(t, "adult/private.toml", "inference.rounds=20")
	r := run(t, newPlay(t, st, path, 1))
	if r.Privacy.Epsilon > 1 || r.Privacy.Releases != 200 || !r.Privacy.Gradients {
		t.Errorf("ε = %g for %d releases", r.Privacy.Epsilon, r.Privacy.Releases)
	}
	checkNearPooled(t, r, 0.008, 0.02)
}

// checkNearPooled limits how much accuracy and log likelihood may be lost compared with the fit
// without privacy.
func checkNearPooled(t *testing.T, r *Result, mostAccuracy, mostLikelihood float64) {
	t.Helper()
	accuracy := *r.NonPrivateTest.Accuracy - *r.Test.Accuracy
	likelihood := r.NonPrivateTest.LogLikelihood - r.Test.LogLikelihood
	t.Logf("accuracy %.4f, %.4f below that without privacy; log likelihood %.4f, %.4f below", *r.Test.Accuracy, accuracy, r.Test.LogLikelihood, likelihood)
	if accuracy > mostAccuracy || likelihood > mostLikelihood {
		t.Errorf("accuracy is %.4f and log likelihood %.4f below that without privacy", accuracy, likelihood)
	}
}

func TestDescentWithAnyNumberOfWorkers(t *testing.T) {
	st := parse(t, "workers.toml", hostileStudy,
		replaced("inference", `{ rounds = 3, steps = 4, sampling_rate = 0.3, q = "diagonal" }`),
		replaced("privacy", `{ unit = "record", noise_multiplier = 2.0, delta = 1e-5 }`),
		replaced("simulation", `{ clients = 5, synthetic.records_per_client = 40 }`))
	var first []float64
	for _, workers := range []int{1, 3} {
		c := castOf(t, st, "workers.toml", 7)
		f := federate(t, st, c.holders, 7, workers)
		for o, err := f.Step(); o != nil; o, err = f.Step() {
			if err != nil {
				t.Fatal(err)
			}
		}
		if first == nil {
			first = slices.Clone(f.Server.Posterior())
		}
		if !slices.Equal(first, f.Server.Posterior()) {
			t.Errorf("%d workers: another posterior than with one", workers)
		}
	}
}

// Without privacy, the default solver must replace private steps, and all other settings must stay
// as they are.
func TestPrivateStepsWithoutPromise(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "hostile.toml")
	for name, inference := range map[string]string{
		"named":   `{ rounds = 4, solver = "dp-svi", steps = 5, step_size = 0.2, draws = 2, gradients = "preconditioned", optimiser = "sgd" }`,
		"default": `{ rounds = 4, steps = 5, step_size = 0.2, sampling = "poisson", sampling_rate = 0.5, average = 0.2, start = "prior" }`,
	} {
		source := strings.Replace(hostileStudy, `{ rounds = 4, steps = 5, solver = "dp-svi" }`, inference, 1)
		if source == hostileStudy {
			t.Fatal("the study has changed")
		}
		writeFile(t, path, source)
		if st, err := LoadStudy(path, nil); err != nil || st.Inference.Solver != study.DPSVI {
			t.Fatalf("%s: %v, solver %q", name, err, st.Inference.Solver)
		}
		st, err := LoadStudy(path, NonPrivate)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if st.Inference.Solver != study.NaturalGradient || st.Privacy.Unit != study.None {
			t.Errorf("%s: solver %q, unit %q", name, st.Inference.Solver, st.Privacy.Unit)
		}
		r, err := playRows(t, string(st.Source), 120, ordinary)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if finiteResult(t, r); *r.KL > 0.1 {
			t.Errorf("%s: the KL divergence from the posterior of the pooled records is %.3g nats", name, *r.KL)
		}
		st, err = LoadStudy(path, append(slices.Clone(NonPrivate), `inference.solver="svi"`, "inference.steps=30"))
		if err != nil || st.Inference.Solver != study.SVI || st.Inference.Ascent.Steps != 30 || st.Inference.Ascent.StepSize != study.DefaultAscent.StepSize {
			t.Errorf("%s: with a solver of the user's: %v", name, err)
		}
	}
}
