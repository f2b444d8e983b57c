package study_test

import (
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

// The test checks that Parse accepts local_prior = "split" only in a study of one synchronous round
// whose solver uses the prior.
func TestLocalPrior(t *testing.T) {
	const head = `
[study]
version = 1
name = "committee"
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
[privacy]
unit = "none"
[inference]
`
	for _, c := range []struct{ inference, want string }{
		{"solver = \"svi\"\nrounds = 1\nlocal_prior = \"split\"", ""},
		{"solver = \"svi\"\nrounds = 1\nlocal_prior = \"whole\"", ""},
		{"solver = \"svi\"\nrounds = 2\nlocal_prior = \"split\"", "write rounds = 1"},
		{"solver = \"svi\"\nrounds = 1\nschedule = \"sequential\"\nlocal_prior = \"split\"", "answer once, each on its own"},
		{"solver = \"svi\"\nrounds = 1\nfactors = \"tied\"\nlocal_prior = \"split\"", "factors = \"exact\""},
		{"solver = \"svi\"\nrounds = 1\ndamping = 0.5\nlocal_prior = \"split\"", "write damping = 1.0"},
		{"rounds = 1\nlocal_prior = \"split\"", `the proposals of solver = "natural-gradient" do not depend on the prior`},
		{"rounds = 1\nlocal_prior = \"half\"", `"half" is unknown`},
	} {
		s, err := study.Parse("t.toml", []byte(head+c.inference))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.inference, err)
		case c.want == "" && s.Inference.SplitPrior != strings.Contains(c.inference, "split"):
			t.Errorf("%q: split is %v", c.inference, s.Inference.SplitPrior)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: %v, want an error with %q", c.inference, err, c.want)
		}
	}
}
