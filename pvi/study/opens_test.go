package study_test

import (
	"testing"

	"fedpvi/pvi/study"
)

// summed turns the study private into one that opens only sums.
var summed = set(`federation.opens="sums"`)

func TestOpens(t *testing.T) {
	st := parse(t, private, summed...)
	in := st.Inference
	if st.Federation.Opens != study.OpenSums || in.Solver != study.DPSVI || in.Descent.Steps != 1 || in.Damping != (study.Damping{Alpha: 1}) {
		t.Errorf("%+v, %+v", st.Federation, in)
	}
	for opens, setting := range map[study.Opens]string{study.OpenMessages: "federation.opens=", study.OpenSums: `privacy.unit="client"`} {
		if st := parse(t, private, with(summed, setting, "privacy.clip=1.0")...); st.Federation.Opens != opens {
			t.Errorf("%s: %v", setting, st.Federation.Opens)
		}
	}
}

func TestOpensRefused(t *testing.T) {
	for _, c := range []struct{ setting, want string }{
		{"inference.steps=1", ""}, // a round is one step
		{"inference.steps=2", "with its share of the noise only"},
		{`inference.schedule="sequential"`, "not in a sum that hides them"},
		{`inference.factors="exact"`, "clients have no factors"},
		{"inference.damping=0.5", "gradients are summed"},
		{`inference.damping_schedule="harmonic"`, "gradients are summed"},
		{"inference.draws=2", `with federation.opens = "sums" write draws = 1`},
		{`inference.gradients="published"`, `write gradients = "joint"`},
		{`inference.sampling="published"`, `write sampling = "poisson"`},
		{`inference.start="analytical"`, `write start = "prior"`},
		{`federation.opens="nothing"`, `"messages"`},
		{`privacy={ unit = "none" }`, "nothing is hidden"},
		{`model={ family = "linear", outcome = "y", noise_sd = 1.0, terms = ["x"] }`, `write inference.solver = "scoring" or "dp-svi"`},
	} {
		expect(t, private, c.want, with(summed, c.setting)...)
	}
	expect(t, private, "a client is hidden in sums only", set(`privacy={ unit = "client", epsilon = 1.0, delta = 1e-5, clip = 1.0 }`, `federation.opens="messages"`)...)
}

func TestAggregation(t *testing.T) {
	const secure = `federation.aggregation="secure"`
	for _, c := range []struct {
		settings []string
		want     study.Aggregation
		err      string
	}{
		{nil, study.ByCoordinator, ""},
		{[]string{secure}, study.Secure, ""},
		{[]string{secure, "federation.min_clients=3", "federation.colluders=1"}, study.Secure, ""},
		{[]string{secure, "federation.min_clients=3", "federation.colluders=2"}, "", "write min_clients = 4 or more, or colluders = 1 or less"},
		{[]string{"federation.opens="}, "", ""},
		{[]string{"federation.opens=", secure}, "", `write opens = "sums" as well`},
		{[]string{`federation.aggregation="anybody"`}, "", `"secure"`},
	} {
		if st := expect(t, private, c.err, with(summed, c.settings...)...); st != nil && st.Federation.Aggregation != c.want {
			t.Errorf("%v: %v", c.settings, st.Federation)
		}
	}
}
