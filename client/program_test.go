package client_test

import (
	"strings"
	"testing"

	"fedpvi/client"
)

const lineProgram = `[study]
version = 2
name = "line"
[[column]]
name = "x"
type = "numeric"
bounds = [-2, 2]
[[column]]
name = "y"
type = "numeric"
bounds = [-5, 5]
[model]
program = '''
data { int N; vector[N] x; vector[N] y; }
parameters { real a; real b; }
model {
  a ~ normal(0, 2);
  b ~ normal(0, 2);
  y ~ normal(a + b * x, 1);  // a line
}
'''
[inference]
solver = "dp-svi"
rounds = 2
steps = 5
intervals = "none"
[privacy]
unit = "record"
epsilon = 5.0
delta = 1e-5
clip = 3.0
[federation]
nominal_records = 20
pace = 0.0
`

// A study whose model is a program runs from the review to the last outcome. The review shows the
// text of the program, and a policy can refuse it.
func TestProgramIsReviewedAndRuns(t *testing.T) {
	h, all := federation(t, []byte(lineProgram), "north", "south")
	check(t, all[0].with(func(c *client.Client, m *client.Member, policy *client.Policy) error {
		review := func() (*client.Review, string) {
			r, err := c.Review(m, policy, "")
			check(t, err)
			var b strings.Builder
			check(t, r.Text(&b))
			return r, b.String()
		}
		r, text := review()
		for _, want := range []string{"y ~ normal(a + b * x, 1);  // a line", "program of 7 lines with 2 parameters"} {
			if !strings.Contains(text, want) {
				t.Errorf("the review does not say %q:\n%s", want, text)
			}
		}
		if len(r.Problems) > 0 {
			t.Errorf("problems: %v", r.Problems)
		}
		policy.RefusePrograms = true
		if r, _ := review(); len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "refuses programs") {
			t.Errorf("a policy that refuses programs: %v", r.Problems)
		}
		return nil
	}))
	h.begin()
	play(t, all)
	for _, p := range all {
		if a := p.account(); a.Spent == 0 {
			t.Errorf("%s has spent nothing", p.name)
		}
	}
}

// The policy's key programs is read.
func TestPolicyOfPrograms(t *testing.T) {
	for text, want := range map[string]bool{"": false, `programs = "allow"`: false, `programs = "refuse"`: true} {
		p, err := client.ParsePolicy("policy.toml", []byte("version = 1\n"+text+"\n"))
		if err != nil || p.RefusePrograms != want {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
	if _, err := client.ParsePolicy("policy.toml", []byte("version = 1\nprograms = \"perhaps\"\n")); err == nil {
		t.Error("an unknown value is accepted")
	}
}
