package study_test

import (
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

const private = `
[study]
version = 1
name = "private"
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "g"
type = "categorical"
levels = ["a", "b"]
[[column]]
name = "y"
type = "numeric"
bounds = [0, 9]
[model]
family = "logistic"
outcome = "y"
positive = ">= 0.5"
terms = ["x"]
[inference]
rounds = 3
[privacy]
unit = "record"
epsilon = 1.0
delta = 1e-5
`

func TestNoiseAware(t *testing.T) {
	for _, c := range []struct {
		name, source string
		want         study.NoiseAware
		shares       [3]float64
	}{
		{"default", private, study.ClosedForm, [3]float64{}},
		{"none", edit(private, "rounds = 3", "rounds = 3\nnoise_aware = \"none\""), study.NoNoiseAware, [3]float64{}},
		{"one-step", edit(private, "rounds = 3", "rounds = 3\nnoise_aware = \"one-step\""), study.OneStep, [3]float64{}},
		{"iterates", edit(private, "rounds = 3", "rounds = 20\nnoise_aware = \"iterates\""), study.Iterates, [3]float64{}},
		{"shares", edit(private, "rounds = 3", "rounds = 3\nnoise_aware = \"one-step\"\nnoise_aware_shares = [0.2, 0.7, 0.1]"), study.OneStep, [3]float64{0.2, 0.7, 0.1}},
		{"another solver", good, study.NoNoiseAware, [3]float64{}},
	} {
		in := parse(t, c.source).Inference
		if in.NoiseAware != c.want || in.NoiseAwareShares != c.shares {
			t.Errorf("%s: %q with shares %v", c.name, in.NoiseAware, in.NoiseAwareShares)
		}
	}
}

func TestNoiseAwareErrors(t *testing.T) {
	oneStep := edit(private, "rounds = 3", "rounds = 3\nnoise_aware = \"one-step\"")
	for _, c := range []struct{ name, source, want string }{
		{"how", edit(private, "rounds = 3", "rounds = 3\nnoise_aware = \"one step\""), `did you mean "one-step"?`},
		{"another solver", edit(good, "[inference]", "[inference]\nnoise_aware = \"one-step\""), `inference.noise_aware: is used only with solver = "dp-svi"`},
		{"counts", edit(edit(oneStep, `"logistic"`, `"poisson"`), "positive = \">= 0.5\"\n", ""), `no public bound in this model`},
		{"groups", edit(oneStep, "terms", "groups = [\"1 | g\"]\nterms"), `no public bound in this model`},
		{"a noise that is learned", edit(edit(oneStep, `"logistic"`, `"linear"`), `positive = ">= 0.5"`, `noise_sd = "learned"`), `no public bound in this model`},
		{"shares of nothing", edit(private, "rounds = 3", "rounds = 3\nnoise_aware_shares = [0.2, 0.7, 0.1]"), `is used only with noise_aware = "one-step"`},
		{"few iterates", edit(private, "rounds = 3", "rounds = 19\nnoise_aware = \"iterates\""), "it needs 20 rounds or more"},
		{"two shares", edit(oneStep, "rounds = 3", "rounds = 3\nnoise_aware_shares = [0.5, 0.5]"), "three positive shares"},
		{"too large shares", edit(oneStep, "rounds = 3", "rounds = 3\nnoise_aware_shares = [0.5, 0.5, 0.1]"), "add up to 1"},
		{"no share", edit(oneStep, "rounds = 3", "rounds = 3\nnoise_aware_shares = [0.0, 0.5, 0.5]"), "three positive shares"},
		{
			"a start that is paid for",
			edit(edit(edit(oneStep, `"logistic"`, `"linear"`), `positive = ">= 0.5"`, "noise_sd = 1.0"), "rounds = 3", "rounds = 3\nsolver = \"dp-svi\"\nstart = \"analytical\""),
			"remove start and sampling",
		},
		{"sampling as published", edit(oneStep, "rounds = 3", "rounds = 3\nsampling = \"published\"\nsampling_rate = 0.1"), "remove start and sampling"},
		{"norm", edit(private, "terms", "max_norm = 0.0\nterms"), "model.max_norm: must be positive"},
	} {
		if _, err := study.Parse("t.toml", []byte(c.source)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
	}
}

// The test checks that the key max_norm bounds Σx² and Σx⁴ over the regressors x of a record, and
// that it changes nothing if the bounds of the columns imply smaller sums.
func TestMaxNorm(t *testing.T) {
	for _, c := range []struct {
		line            string
		squares, fourth float64
	}{
		{"", 2, 2},
		{"max_norm = 1.2\n", 1.44, 2},
		{"max_norm = 0.5\n", 0.25, 0.0625},
		{"max_norm = 7.0\n", 2, 2},
	} {
		st := parse(t, edit(private, "terms", c.line+"terms"))
		squares, fourths := st.RegressorBounds()
		if squares != c.squares || fourths != c.fourth {
			t.Errorf("%q: bounds are %g and %g, want %g and %g", c.line, squares, fourths, c.squares, c.fourth)
		}
	}
}
