package study_test

import (
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

const summedSource = `
study = { version = 1, name = "sums" }
model = { family = "logistic", outcome = "y", positive = ">= 0.5", terms = ["x"] }
inference = { rounds = 5 }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
federation = { opens = "sums" }
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "y"
type = "numeric"
bounds = [0, 1]
`

func TestOpens(t *testing.T) {
	st, err := study.Parse("s.toml", []byte(summedSource))
	if err != nil {
		t.Fatal(err)
	}
	in := st.Inference
	if st.Federation.Opens != study.OpenSums || in.Solver != study.DPSVI || in.Descent.Steps != 1 || in.Damping != (study.Damping{Alpha: 1}) {
		t.Errorf("%+v, %+v", st.Federation, in)
	}
	for opens, c := range map[study.Opens]study.Override{
		study.OpenMessages: {Key: "federation.opens"},
		study.OpenSums:     {Key: "privacy.unit", Value: `"client"`},
	} {
		st, err := study.Parse("s.toml", []byte(summedSource), c, study.Override{Key: "privacy.clip", Value: "1.0"})
		if err != nil || st.Federation.Opens != opens {
			t.Errorf("%+v: %v, %v", c, st, err)
		}
	}
}

func TestOpensRefused(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       string
	}{
		{"inference.steps", "2", "with its share of the noise only"},
		{"inference.schedule", `"sequential"`, "not in a sum that hides them"},
		{"inference.factors", `"exact"`, "clients have no factors"},
		{"inference.damping", "0.5", "gradients are summed"},
		{"inference.damping_schedule", `"harmonic"`, "gradients are summed"},
		{"inference.draws", "2", `with federation.opens = "sums" write draws = 1`},
		{"inference.gradients", `"published"`, `write gradients = "joint"`},
		{"inference.sampling", `"published"`, `write sampling = "poisson"`},
		{"inference.start", `"analytical"`, `write start = "prior"`},
		{"federation.opens", `"nothing"`, `"messages"`},
		{"privacy", `{ unit = "none" }`, "nothing is hidden"},
		{"model", `{ family = "linear", outcome = "y", noise_sd = 1.0, terms = ["x"] }`, `write inference.solver = "scoring" or "dp-svi"`},
	} {
		_, err := study.Parse("s.toml", []byte(summedSource), study.Override{Key: c.key, Value: c.value})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %s: %v, want %q", c.key, c.value, err, c.want)
		}
	}
	_, err := study.Parse("s.toml", []byte(summedSource),
		study.Override{Key: "privacy", Value: `{ unit = "client", epsilon = 1.0, delta = 1e-5, clip = 1.0 }`}, study.Override{Key: "federation.opens", Value: `"messages"`})
	if err == nil || !strings.Contains(err.Error(), "a client is hidden in sums only") {
		t.Errorf("clients whose messages anyone reads: %v", err)
	}
	// If only sums are opened, a round has one step.
	if _, err := study.Parse("s.toml", []byte(summedSource), study.Override{Key: "inference.steps", Value: "1"}); err != nil {
		t.Error(err)
	}
}

func TestAggregation(t *testing.T) {
	secure := study.Override{Key: "federation.aggregation", Value: `"secure"`}
	for _, c := range []struct {
		with []study.Override
		want study.Aggregation
		err  string
	}{
		{nil, study.ByCoordinator, ""},
		{[]study.Override{secure}, study.Secure, ""},
		{[]study.Override{secure, {Key: "federation.min_clients", Value: "3"}, {Key: "federation.colluders", Value: "1"}}, study.Secure, ""},
		{[]study.Override{secure, {Key: "federation.min_clients", Value: "3"}, {Key: "federation.colluders", Value: "2"}}, "", "write min_clients = 4 or more, or colluders = 1 or less"},
		{[]study.Override{{Key: "federation.opens"}}, "", ""},
		{[]study.Override{{Key: "federation.opens"}, secure}, "", `write opens = "sums" as well`},
		{[]study.Override{{Key: "federation.aggregation", Value: `"anybody"`}}, "", `"secure"`},
	} {
		st, err := study.Parse("s.toml", []byte(summedSource), c.with...)
		switch {
		case c.err == "" && (err != nil || st.Federation.Aggregation != c.want):
			t.Errorf("%v: %v, %v", c.with, st, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%v: %v, want %q", c.with, err, c.err)
		}
	}
}
