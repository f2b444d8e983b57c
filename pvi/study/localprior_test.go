package study_test

import (
	"strings"
	"testing"
)

// local_prior = "split" needs a single synchronous round and a solver that uses the prior.
func TestLocalPrior(t *testing.T) {
	for _, c := range []struct{ inference, want string }{
		{`solver = "svi", rounds = 1, local_prior = "split"`, ""},
		{`solver = "svi", rounds = 1, local_prior = "whole"`, ""},
		{`solver = "svi", rounds = 2, local_prior = "split"`, "write rounds = 1"},
		{`solver = "svi", rounds = 1, schedule = "sequential", local_prior = "split"`, "answer once, each on its own"},
		{`solver = "svi", rounds = 1, factors = "tied", local_prior = "split"`, `factors = "exact"`},
		{`solver = "svi", rounds = 1, damping = 0.5, local_prior = "split"`, "write damping = 1.0"},
		{`rounds = 1, local_prior = "split"`, `the proposals of solver = "natural-gradient" do not depend on the prior`},
		{`rounds = 1, local_prior = "half"`, `"half" is unknown`},
	} {
		s := expect(t, private, c.want, set(`privacy={ unit = "none" }`, "inference={ "+c.inference+" }")...)
		if s != nil && s.Inference.SplitPrior != strings.Contains(c.inference, "split") {
			t.Errorf("%q: split is %v", c.inference, s.Inference.SplitPrior)
		}
	}
}
