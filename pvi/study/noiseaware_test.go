package study_test

import (
	"testing"

	"fedpvi/pvi/study"
)

func TestNoiseAware(t *testing.T) {
	for _, c := range []struct {
		settings []string
		want     study.NoiseAware
		shares   [3]float64
	}{
		{nil, study.ClosedForm, [3]float64{}},
		{[]string{`inference.noise_aware="none"`}, study.NoNoiseAware, [3]float64{}},
		{[]string{`inference.noise_aware="one-step"`}, study.OneStep, [3]float64{}},
		{[]string{`inference={ rounds = 20, noise_aware = "iterates" }`}, study.Iterates, [3]float64{}},
		{[]string{`inference.noise_aware="one-step"`, "inference.noise_aware_shares=[0.2, 0.7, 0.1]"}, study.OneStep, [3]float64{0.2, 0.7, 0.1}},
	} {
		in := parse(t, private, set(c.settings...)...).Inference
		if in.NoiseAware != c.want || in.NoiseAwareShares != c.shares {
			t.Errorf("%s: %q with shares %v", c.settings, in.NoiseAware, in.NoiseAwareShares)
		}
	}
	if in := parse(t, good).Inference; in.NoiseAware != study.NoNoiseAware {
		t.Errorf("another solver: %q", in.NoiseAware)
	}
}

func TestNoiseAwareErrors(t *testing.T) {
	oneStep := set(`inference.noise_aware="one-step"`)
	expect(t, good, `inference.noise_aware: is used only with solver = "dp-svi"`, oneStep...)
	for _, c := range []struct {
		settings []string
		want     string
	}{
		{[]string{`inference.noise_aware="one step"`}, `did you mean "one-step"?`},
		{[]string{`model={ family = "poisson", outcome = "y", terms = ["x"] }`}, `no public bound in this model`},
		{[]string{`model.groups=["1 | g"]`}, `no public bound in this model`},
		{[]string{`model={ family = "linear", outcome = "y", noise_sd = "learned", terms = ["x"] }`}, `no public bound in this model`},
		{[]string{"inference.noise_aware=", "inference.noise_aware_shares=[0.2, 0.7, 0.1]"}, `is used only with noise_aware = "one-step"`},
		{[]string{`inference={ rounds = 19, noise_aware = "iterates" }`}, "it needs 20 rounds or more"},
		{[]string{"inference.noise_aware_shares=[0.5, 0.5]"}, "three positive shares"},
		{[]string{"inference.noise_aware_shares=[0.5, 0.5, 0.1]"}, "add up to 1"},
		{[]string{"inference.noise_aware_shares=[0.0, 0.5, 0.5]"}, "three positive shares"},
		{[]string{`model={ family = "linear", outcome = "y", noise_sd = 1.0, terms = ["x"] }`, `inference.solver="dp-svi"`, `inference.start="analytical"`}, "remove start and sampling"},
		{[]string{`inference.sampling="published"`, "inference.sampling_rate=0.1"}, "remove start and sampling"},
		{[]string{"inference.noise_aware=", "model.max_norm=0.0"}, "model.max_norm: must be positive"},
	} {
		expect(t, private, c.want, with(oneStep, c.settings...)...)
	}
}

// max_norm limits Σx² and Σx⁴ over the regressors x of a record. It has no effect if the bounds of
// the columns already imply smaller sums.
func TestMaxNorm(t *testing.T) {
	for _, c := range []struct {
		most            string
		squares, fourth float64
	}{
		{"", 2, 2},
		{"1.2", 1.44, 2},
		{"0.5", 0.25, 0.0625},
		{"7.0", 2, 2},
	} {
		squares, fourths := parse(t, private, set("model.max_norm="+c.most)...).RegressorBounds()
		if squares != c.squares || fourths != c.fourth {
			t.Errorf("%q: bounds are %g and %g, want %g and %g", c.most, squares, fourths, c.squares, c.fourth)
		}
	}
}
