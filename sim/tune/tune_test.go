package tune

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const small = `
study = { version = 1, name = "small" }
model = { family = "logistic", outcome = "y", positive = "yes", terms = ["x", "z"] }
inference = { rounds = 2, steps = 10 }
privacy = { unit = "record", epsilon = 2.0, delta = 1e-5 }
federation = { nominal_records = 50 }
simulation = { clients = 3, SOURCE }
column = [
  { name = "x", type = "numeric", bounds = [0, 10] },
  { name = "z", type = "categorical", levels = ["a", "b", "c"] },
  { name = "y", type = "categorical", levels = ["no", "yes"] },
]
`

const madeUp = "synthetic.records_per_client = 80, synthetic.truth = { x = 3.0 }"

func writeStudy(t testing.TB, source string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.toml")
	if err := os.WriteFile(path, []byte(strings.Replace(small, "SOURCE", source, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func search(t testing.TB, o Options) *Found {
	t.Helper()
	if o.Budget == 0 {
		o.Budget = LeastBudget
	}
	if o.Score == "" {
		o.Score = LogLikelihood
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	found, err := s.Run(context.Background(), func(runs, _ int) { last = runs })
	if err != nil {
		t.Fatal(err)
	}
	if last != found.Runs || found.Runs > o.Budget {
		t.Errorf("%d runs were counted, %d are reported, of a budget of %d", last, found.Runs, o.Budget)
	}
	return found
}

func TestSearchIsDeterministic(t *testing.T) {
	path := writeStudy(t, madeUp)
	text := func(seed uint64, workers int) string {
		found, err := json.Marshal(search(t, Options{Study: path, Seed: seed, Workers: workers}))
		if err != nil {
			t.Fatal(err)
		}
		return string(found)
	}
	one := text(1, 1)
	if three := text(1, 3); three != one {
		t.Errorf("with three workers\n%s\nwith one\n%s", three, one)
	}
	if text(2, 2) == one {
		t.Error("another seed finds the same")
	}
}

func TestSearchFindsBetterSettings(t *testing.T) {
	found := search(t, Options{Study: writeStudy(t, madeUp), Seed: 1, Workers: 2, Budget: 20, Settings: []string{"inference.step_size=1e-6", "privacy.epsilon=20"}})
	worst := found.Rows[len(found.Rows)-1]
	if worst.Name != AsWritten || worst.Gain == nil || *worst.Gain > 0 {
		t.Errorf("steps of nothing are not the worst: %+v", found.Rows)
	}
	if best := found.Rows[found.Best]; best.Name == AsWritten {
		t.Error("they are recommended")
	}
}

func TestSearchLeavesPrivateRecordsAlone(t *testing.T) {
	path := writeStudy(t, `data = "private.csv", test_data = "test.csv"`)
	found := search(t, Options{Study: path, Seed: 1, Workers: 2})
	if found.Public || !strings.Contains(found.Data, "made up") {
		t.Errorf("data: %s", found.Data)
	}
	var rows strings.Builder
	rows.WriteString("x,z,y\n")
	for i := range 120 {
		fmt.Fprintf(&rows, "%d,%c,%s\n", i%11, "abc"[i%3], []string{"no", "yes"}[i%11/6])
	}
	public := filepath.Join(t.TempDir(), "public.csv")
	if err := os.WriteFile(public, []byte(rows.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	found = search(t, Options{Study: path, Seed: 1, Workers: 2, Public: []string{public}, Score: Accuracy})
	if !found.Public || !strings.Contains(found.Data, public) || !strings.Contains(found.Data, "asserted to be public") {
		t.Errorf("data: %s", found.Data)
	}
}

func TestSearchRefusals(t *testing.T) {
	made := writeStudy(t, madeUp)
	for want, o := range map[string]Options{
		"it has no privacy":          {Study: made, Budget: 20, Settings: []string{`privacy={unit = "none"}`, "inference.steps="}},
		"give at least 16":           {Study: made, Budget: 15},
		"federation.nominal_records": {Study: writeStudy(t, `data = "private.csv"`), Budget: 20, Settings: []string{"federation="}},
		"use the log likelihood":     {Study: made, Budget: 20, Score: Accuracy, Settings: []string{`model={family = "linear", outcome = "x", terms = ["z"], noise_sd = "learned"}`}},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestCandidates(t *testing.T) {
	s, err := New(Options{Study: writeStudy(t, madeUp), Score: LogLikelihood, Budget: 400, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[string][]float64{}
	for _, c := range s.candidates[s.fixed:] {
		for _, v := range c.Settings {
			drawn[v.Key] = append(drawn[v.Key], v.Value)
		}
	}
	space, err := newSpace(s.load)
	if err != nil {
		t.Fatal(err)
	}
	clip := space.rule.Method().Noise().Clip
	// For each key there are four limits. The first two bound the smallest value over all
	// candidates, the last two the largest.
	for key, limits := range map[string][4]float64{
		keyClip:    {0.24 * clip, 0.3 * clip, 1.7 * clip, 2.1 * clip},
		keySteps:   {25, 32, 170, 200}, // with two rounds, from a quarter to twice the default of 100 steps
		keyDamping: {0.07, 0.1, 0.9, 1},
		keyRate:    {0.05, 0.05, 1, 1},
	} {
		low, high := slices.Min(drawn[key]), slices.Max(drawn[key])
		if low < limits[0] || low > limits[1] || high < limits[2] || high > limits[3] {
			t.Errorf("%s is drawn from [%g, %g], want between %v", key, low, high, limits)
		}
	}
}

// If only sums are opened, a round has one step, and the search must leave the damping alone.
func TestCandidatesOfOpenedSums(t *testing.T) {
	found := search(t, Options{Study: writeStudy(t, madeUp), Seed: 1, Workers: 2, Settings: []string{"federation.opens=sums", "inference.steps="}})
	for _, r := range found.Rows {
		for _, s := range r.Settings {
			if s.Key == keySteps || s.Key == keyDamping || s.Key == keyStepSize && !(s.Value > 0.05 && s.Value < 2) {
				t.Errorf("a candidate has %s", s)
			}
		}
	}
}

// A fifth of the gradients of generated records must be longer than the clip.
func TestSearchMeasuresAClip(t *testing.T) {
	path := writeStudy(t, madeUp)
	s, err := New(Options{Study: path, Score: LogLikelihood, Budget: LeastBudget, Seed: 1, Settings: []string{
		`model={family = "neural-network", outcome = "y", positive = "yes", terms = ["x", "z"], hidden = 3}`, "simulation.synthetic={records_per_client = 50}",
	}})
	if err != nil {
		t.Fatal(err)
	}
	rule := s.candidates[0]
	if len(rule.Settings) != 1 || rule.Settings[0].Key != keyClip || rule.Settings[0].Value < 0.1 || rule.Settings[0].Value > 3 {
		t.Errorf("the rule is %+v", rule)
	}
}
