package sim

import (
	"slices"
	"testing"

	"fedpvi/pvi/study"
)

// Ten clients under ε = 1 each, few rounds: near the fit of all records without privacy.
// The bounds are about twice what was seen over seeds.
func TestPrivateAdult(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds: not under -short")
	}
	st, path := experiment(t, "adult/private.toml", "inference.rounds=20")
	r := run(t, newPlay(t, st, path, 1))
	if r.Privacy.Epsilon > 1 || r.Privacy.Releases != 200 || !r.Privacy.Gradients {
		t.Errorf("ε = %g for %d releases", r.Privacy.Epsilon, r.Privacy.Releases)
	}
	accuracy := *r.NonPrivateTest.Accuracy - *r.Test.Accuracy
	likelihood := r.NonPrivateTest.LogLikelihood - r.Test.LogLikelihood
	t.Logf("accuracy %.4f, %.4f below that without privacy; log likelihood %.4f, %.4f below", *r.Test.Accuracy, accuracy, r.Test.LogLikelihood, likelihood)
	if accuracy > 0.008 || likelihood > 0.02 {
		t.Errorf("accuracy is %.4f and log likelihood %.4f below that without privacy", accuracy, likelihood)
	}
}

// The number of goroutines changes no bit of a federation of private gradient steps.
func TestDescentWithAnyNumberOfWorkers(t *testing.T) {
	source := []byte(`
study = { version = 1, name = "workers" }
model = { family = "logistic", outcome = "y", positive = "yes", terms = ["x", "z"] }
inference = { rounds = 3, steps = 4, sampling_rate = 0.3, q = "diagonal" }
privacy = { unit = "record", noise_multiplier = 2.0, delta = 1e-5 }
simulation = { clients = 5, synthetic.records_per_client = 40 }
[[column]]
name = "x"
type = "numeric"
bounds = [0, 10]
[[column]]
name = "z"
type = "categorical"
levels = ["a", "b", "c"]
[[column]]
name = "y"
type = "categorical"
levels = ["no", "yes"]
`)
	st, err := study.Parse("workers.toml", source)
	if err != nil {
		t.Fatal(err)
	}
	var first []float64
	for _, workers := range []int{1, 3} {
		c, err := newCast(st, "workers.toml", "", 7)
		if err != nil {
			t.Fatal(err)
		}
		f, err := New(st, c.holders, 7, workers)
		if err != nil {
			t.Fatal(err)
		}
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
