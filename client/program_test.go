package client_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fedpvi/client"
	"fedpvi/internal/table/origin"
	"fedpvi/pvi/session"
	"fedpvi/pvi/words"
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
	check(t, all[0].with(func(c *client.Client, m *client.Member, _ *client.Policy) error {
		predictLine(t, c, m)
		return nil
	}))
}

func predictLine(t *testing.T, c *client.Client, m *client.Member) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "new.csv")
	check(t, os.WriteFile(file, []byte("x\n1\n9\n-1.5\n"), 0o600))
	records, _, err := client.ReadNew(t.Context(), m, origin.Source{From: file})
	check(t, err)
	ending, err := c.Ending(m)
	check(t, err)
	var result session.Result
	check(t, json.Unmarshal(ending.Result, &result))
	p, err := session.Describe(m.Study, &result)
	check(t, err)
	predicted, err := p.Predict(records)
	check(t, err)
	var b strings.Builder
	densities, err := words.PredictedCSV(&b, records, predicted)
	check(t, err)
	lines := strings.Split(b.String(), "\n")
	if !math.IsNaN(densities.Sum) || len(lines) != 4 || !strings.HasPrefix(lines[0], "row,y_expected_mean,") || !strings.HasPrefix(lines[1], "2,") || !strings.HasPrefix(lines[2], "4,") {
		t.Errorf("predictions with the sum %g:\n%s", densities.Sum, b.String())
	}
	line := result.Mean[0] + result.Mean[1]*-1.5
	if got, err := strconv.ParseFloat(strings.Split(lines[2], ",")[1], 64); err != nil || math.Abs(got-line) > 1e-6 {
		t.Errorf("the expected outcome is %g, not %g (%v)", got, line, err)
	}
}

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
