package study_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedpvi/pvi/study"
)

// families is a study in which each test case replaces the table [model].
const families = `
study = { version = 1, name = "s" }
inference = { rounds = 3 }
privacy = { unit = "none" }
model = { MODEL }
column = [
  { name = "age", type = "numeric", bounds = [20, 100] },
  { name = "gain", type = "numeric", bounds = [0, 99], transform = "log1p" },
  { name = "visits", type = "numeric", bounds = [0, 40] },
  { name = "clinic", type = "categorical", levels = ["a", "b", "c"] },
  { name = "ill", type = "categorical", levels = ["no", "yes"] },
]
`

// ofFamily returns families with the given model, and with additional keys in [inference] and
// [privacy].
func ofFamily(model, inference, privacy string) string {
	return strings.NewReplacer("MODEL", model, "rounds = 3", "rounds = 3"+inference, `unit = "none"`, privacy).Replace(families)
}

func TestFamilies(t *testing.T) {
	for _, c := range []struct {
		model string
		want  study.Model
		kind  study.OutcomeKind
	}{
		{
			`family = "logistic", outcome = "ill", positive = "yes", terms = ["age"], coding = "one-hot"`,
			study.Model{Family: study.Logistic, Outcome: "ill", Positive: &study.Event{Text: "yes", Level: 1}, OneHot: true, Terms: []study.Term{{}, {Columns: []string{"age"}}}},
			study.Binary,
		},
		{
			`family = "probit", outcome = "visits", positive = ">= 10", terms = [], groups = ["1 + age | clinic"]`,
			study.Model{Family: study.Probit, Outcome: "visits", Positive: &study.Event{Text: ">= 10", Level: -1, Op: ">=", Value: 10}, Terms: []study.Term{{}}, Groups: []study.Group{{By: "clinic", Intercept: true, Slopes: []string{"age"}}}},
			study.Binary,
		},
		{`family = "poisson", outcome = "visits", terms = [], groups = ["clinic"]`, study.Model{Family: study.Poisson, Outcome: "visits", Terms: []study.Term{{}}, Groups: []study.Group{{By: "clinic", Intercept: true}}}, study.Count},
		{`family = "softmax", outcome = "clinic", terms = []`, study.Model{Family: study.Softmax, Outcome: "clinic", Terms: []study.Term{{}}}, study.Class},
		{`family = "robust", outcome = "age", terms = []`, study.Model{Family: study.Robust, Outcome: "age", DegreesOfFreedom: 4, Terms: []study.Term{{}}}, study.Measured},
		{`family = "linear", outcome = "age", noise_sd = "learned", terms = []`, study.Model{Family: study.Linear, Outcome: "age", Terms: []study.Term{{}}}, study.Measured},
		{`family = "mixture", columns = ["age", "gain"], components = 2`, study.Model{Family: study.Mixture, Variables: []string{"age", "gain"}, Components: 2}, study.NoOutcome},
		{`family = "neural-network", outcome = "age", positive = "< 50", hidden = 3, terms = ["gain"]`, study.Model{Family: study.NeuralNetwork, Outcome: "age", Hidden: 3, Positive: &study.Event{Text: "< 50", Level: -1, Op: "<", Value: 50}, Terms: []study.Term{{}, {Columns: []string{"gain"}}}}, study.Binary},
	} {
		s := parse(t, ofFamily(c.model, "", `unit = "none"`))
		c.want.Standardise = true
		if diff := cmp.Diff(c.want, s.Model); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.model, diff)
		}
		if s.Model.Kind() != c.kind {
			t.Errorf("%s: kind %d, want %d", c.model, s.Model.Kind(), c.kind)
		}
	}
}

func TestFamilyErrors(t *testing.T) {
	for _, c := range []struct{ model, want string }{
		{`family = "logit", outcome = "ill", terms = []`, `model.family: "logit" is unknown`},
		{`family = "logistic", outcome = "ill", terms = []`, `model.positive: is missing: say which level counts as 1, positive = "yes"`},
		{`family = "logistic", outcome = "ill", positive = "si", terms = []`, `"si" is not among the levels of column "ill"`},
		{`family = "logistic", outcome = "age", positive = "50", terms = []`, `"50" is not a comparison`},
		{`family = "logistic", outcome = "age", positive = "> 100", terms = []`, `is the same for every value within the bounds`},
		{`family = "linear", outcome = "age", positive = "> 50", noise_sd = 1, terms = []`, `model.positive: has no meaning with family = "linear"`},
		{`family = "logistic", outcome = "ill", positive = "yes", noise_sd = 1, terms = []`, `model.noise_sd: has no meaning with family = "logistic"`},
		{`family = "linear", outcome = "age", noise_sd = "unknown", terms = []`, `model.noise_sd: must be a finite number`},
		{`family = "poisson", outcome = "clinic", terms = []`, `does not have counts`},
		{`family = "softmax", outcome = "age", terms = []`, `is one of the levels of a categorical column`},
		{`family = "robust", outcome = "age", degrees_of_freedom = 0, terms = []`, `degrees_of_freedom: must be positive`},
		{`family = "mixture", columns = ["clinic"], components = 2`, `clusters are found in numeric columns`},
		{`family = "mixture", columns = ["age"], components = 2, outcome = "ill"`, `model.outcome: has no meaning with family = "mixture"`},
		{`family = "mixture", columns = ["age"]`, `model.components: is missing`},
		{`family = "neural-network", outcome = "age", terms = []`, `model.hidden: is missing`},
		{`family = "poisson", outcome = "visits", terms = [], groups = ["1 | age"]`, `cannot define groups: groups are the levels of a categorical column`},
		{`family = "poisson", outcome = "visits", terms = [], groups = ["ward"]`, `column "ward" is not declared`},
		{`family = "poisson", outcome = "visits", terms = [], groups = ["ill + 1 | clinic"]`, `"ill" cannot vary between groups`},
		{`family = "poisson", outcome = "visits", terms = [], groups = ["0 | clinic"]`, `nothing that varies`},
		{`family = "poisson", outcome = "visits", terms = [], groups = ["clinic", "age | clinic"]`, `is the group of two terms`},
		{`family = "softmax", outcome = "clinic", terms = [], groups = ["ill"]`, `has no group terms`},
	} {
		_, err := study.Parse("t.toml", []byte(ofFamily(c.model, "", `unit = "none"`)))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "t.toml:5:") {
			t.Errorf("%s:\n%v\nwant %q at line 5", c.model, err, c.want)
		}
	}
}

func TestSolvers(t *testing.T) {
	const logistic = `family = "logistic", outcome = "ill", positive = "yes", terms = []`
	const grouped = `family = "logistic", outcome = "ill", positive = "yes", terms = [], groups = ["clinic"]`
	const linear = `family = "linear", outcome = "age", noise_sd = 3, terms = []`
	const private = `unit = "client", epsilon = 1.0, delta = 1e-5, clip = 3.0`
	for _, c := range []struct {
		model, inference, privacy string
		solver                    study.Solver
		want                      string
	}{
		{linear, ``, `unit = "none"`, study.Conjugate, ``},
		{linear, `, solver = "svi", steps = 9`, `unit = "none"`, study.SVI, ``},
		{logistic, ``, `unit = "none"`, study.NaturalGradient, ``},
		{logistic, ``, private, study.NaturalGradient, ``},
		{logistic, `, solver = "laplace"`, `unit = "none"`, study.Laplace, ``},
		{logistic, `, solver = "conjugate"`, `unit = "none"`, "", `write "natural-gradient"`},
		{grouped, `, solver = "laplace"`, `unit = "none"`, "", `says little about where its posterior lies`},
		{logistic, ``, `unit = "record", epsilon = 1.0, delta = 1e-5`, study.DPSVI, ``},
		{logistic, `, solver = "svi"`, `unit = "record", epsilon = 1.0, delta = 1e-5`, "", `with privacy.unit = "record" the solver is "dp-svi"`},
		{logistic, `, solver = "dp-svi"`, private, "", `a client may take one step a round`},
		{logistic, `, steps = 9`, `unit = "none"`, "", `is used only with solver = "svi" or "dp-svi"`},
		{logistic, `, solver = "svi", optimiser = "sgd"`, `unit = "none"`, "", `is used only with solver = "dp-svi"`},
		{logistic, `, solver = "svi", draws = 0`, `unit = "none"`, "", `draws: must lie between 1 and`},
		{`family = "poisson", outcome = "visits", terms = []`, ``, `unit = "client", epsilon = 1.0, delta = 1e-5 }
federation = { nominal_records = 9`, "", `no public number bounds the effect of a record of a poisson model`},
	} {
		if s := expect(t, ofFamily(c.model, c.inference, c.privacy), c.want); s != nil && s.Inference.Solver != c.solver {
			t.Errorf("%s%s: solver %q, want %q", c.model, c.inference, s.Inference.Solver, c.solver)
		}
	}
}

// A column is transformed before its bounds are mapped to [−1, 1]. If the study gives a centre and
// a spread, these are used instead of the bounds.
func TestScaling(t *testing.T) {
	s := parse(t, ofFamily(`family = "linear", outcome = "age", noise_sd = 3, terms = ["gain"]`, "", `unit = "none"`))
	gain, _ := s.Column("gain")
	for value, want := range map[float64]float64{0: -1, 9: 0, 99: 1} {
		got := s.Scale(gain, value)
		if back := s.Unscale(gain, got); abs(got-want) > 1e-12 || abs(back-value) > 1e-9 {
			t.Errorf("gain %g is scaled to %g and back to %g, want %g", value, got, back, want)
		}
	}
	gain.Transform, gain.Centre, gain.Spread = "", 10, 5
	if got := s.Scale(gain, 25); got != 3 {
		t.Errorf("with centre 10 and spread 5 a gain of 25 is scaled to %g", got)
	}
	if squares, _ := s.RegressorBounds(); abs(squares-1-17.8*17.8) > 1e-9 {
		t.Errorf("regressor bounds %g, want those of (99 − 10)/5", squares)
	}
}

// For a Poisson regression with groups, the default solver is SVI. It draws samples from q, because
// the expected rate exp(exp(log sd)·z) is infinite under any Gaussian q. Other regressions with
// groups use NaturalGradient by default.
func TestSolverOfGroups(t *testing.T) {
	for model, want := range map[string]study.Solver{
		`family = "poisson", outcome = "visits"`:                 study.SVI,
		`family = "negative-binomial", outcome = "visits"`:       study.NaturalGradient,
		`family = "logistic", outcome = "ill", positive = "yes"`: study.NaturalGradient,
	} {
		if got := parse(t, ofFamily(model+`, terms = [], groups = ["clinic"]`, "", `unit = "none"`)).Inference.Solver; got != want {
			t.Errorf("%s: %q, want %q", model, got, want)
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }
