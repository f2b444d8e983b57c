package study_test

import (
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

const compared = `
[study]
version = 1
name = "compared"
[[column]]
name = "x"
type = "numeric"
bounds = [0, 1]
[[column]]
name = "y"
type = "numeric"
bounds = [0, 1]
[model]
family = "logistic"
outcome = "y"
positive = ">= 0.5"
terms = ["x"]
[inference]
rounds = 1
step_size = 0.1
[privacy]
unit = "record"
epsilon = 1.0
delta = 1e-5
clip = 1.0
[simulation]
clients = 1
synthetic.records_per_client = 10
baseline = "dp-sgld"
`

// The test checks that Parse refuses a study with a baseline if a key that the baseline needs is
// missing, or if a key is given that the baseline would not use.
func TestBaseline(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"dp-sgld", "one-posterior-sample", ""},
		{"dp-sgld", "two-samples", `"two-samples" is unknown`},
		{"step_size = 0.1", "", "write inference.step_size"},
		{"dp-sgld\"", "one-posterior-sample\"\n[federation]\nopens = \"sums\"", "neither partitions nor federation.opens"},
		{"step_size = 0.1", "step_size = 0.1\npartitions = 5", "neither partitions nor federation.opens"},
		{"step_size = 0.1", "step_size = 0.1\ngradients = \"joint\"", "a single gradient of an independent batch"},
		{"step_size = 0.1", "step_size = 0.1\ndraws = 2", "a single gradient of an independent batch"},
		{"dp-sgld", "ep", `that solver = "dp-sep" hides`},
		{"clients = 1", "clients = 2", "write clients = 1, got 2"},
		{"terms =", "standardise = \"private\"\nterms =", "has no budget for finding a scale"},
		{"clip = 1.0\n[simulation]\nclients = 1\nsynthetic.records_per_client = 10\nbaseline = \"dp-sgld\"", "[simulation]\nclients = 1\nsynthetic.records_per_client = 10\nbaseline = \"one-posterior-sample\"", "needs privacy.epsilon, and privacy.clip"},
		{"epsilon = 1.0\ndelta = 1e-5\nclip = 1.0", "noise_multiplier = 1.0\ndelta = 1e-5\nclip = 1.0", ""},
	} {
		text := strings.Replace(compared, c.old, c.new, 1)
		if _, err := study.Parse("t.toml", []byte(text)); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v, want an error with %q", c.new, err, c.want)
		}
	}
}
