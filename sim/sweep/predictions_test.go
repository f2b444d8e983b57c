package sweep_test

import (
	"context"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fedpvi/sim"
	"fedpvi/sim/sweep"
)

const predicted = `
[sweep]
name = "predicted"
study = "logistic.toml"
seeds = 2
trace = 2

[[axis]]
name = "sd"
key = "prior.sd"
values = [1, 2]

[[axis]]
name = "held out"
[[axis.case]]
label = "a third"
set = { "simulation.test" = 0.33 }
[[axis.case]]
label = "none"

[[plot]]
file = "by-sd"
x = "sd"
y = "accuracy"
by = "held out"
spread = "sd"
pooled = true
line = [{ label = "a guess", y = 0.5 }]
published = [{ label = "elsewhere", x = [1, 1.5], y = [0.6, 0.7] }]

[[plot]]
file = "by-round"
x = "round"
y = "log_likelihood"
by = "sd"

[[plot]]
file = "by-metric"
x = "kl"
y = "auc"
by = "sd"
log_x = true

[[plot]]
file = "by-share"
x = "held out"
y = "accuracy"
published = [{ label = "elsewhere", x = ["none"], y = [0.8] }]
`

const logistic = `
column = [
  { name = "x", type = "numeric", bounds = [-3, 3] },
  { name = "y", type = "categorical", levels = ["no", "yes"] },
]
study = { version = 1, name = "logistic" }
model = { family = "logistic", outcome = "y", positive = "yes", terms = ["x"] }
inference = { rounds = 4 }
privacy = { unit = "none" }
simulation = { clients = 3, synthetic.records_per_client = 40, synthetic.truth.x = 2.0 }
`

func writePredicted(t *testing.T, text string) string {
	t.Helper()
	return folderWith(t, map[string]string{"logistic.toml": logistic, "sweep.toml": text})
}

func table(t *testing.T, text string) map[string][]string {
	t.Helper()
	rows := readRows(t, text)
	columns := map[string][]string{}
	for i, name := range rows[0] {
		for _, row := range rows[1:] {
			columns[name] = append(columns[name], row[i])
		}
	}
	return columns
}

// The predictions must equal those of a single run. Without held-out records there must be none.
func TestPredictions(t *testing.T) {
	path := writePredicted(t, predicted)
	spec, err := sweep.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	found := complete(t, filepath.Join(t.TempDir(), "predicted"), spec, 2)
	results, trace := table(t, found["results.csv"]), table(t, found["trace.csv"])
	for i, share := range results["held out"] {
		if share == "none" {
			for _, metric := range []string{"accuracy", "log_likelihood", "auc", "accuracy_gap", "log_likelihood_gap", "auc_gap"} {
				if results[metric][i] != "" {
					t.Errorf("nothing is held out, and %s is %q", metric, results[metric][i])
				}
			}
			continue
		}
		r := play(t, filepath.Join(filepath.Dir(path), "logistic.toml"), results["sd"][i], results["seed"][i])
		for metric, want := range map[string]float64{
			"accuracy":           *r.Test.Accuracy,
			"log_likelihood":     r.Test.LogLikelihood,
			"auc":                *r.Test.AUC,
			"accuracy_gap":       *r.NonPrivateTest.Accuracy - *r.Test.Accuracy,
			"log_likelihood_gap": r.NonPrivateTest.LogLikelihood - r.Test.LogLikelihood,
			"auc_gap":            *r.NonPrivateTest.AUC - *r.Test.AUC,
		} {
			if got, err := strconv.ParseFloat(results[metric][i], 64); err != nil || got != want {
				t.Errorf("run %s: %s is %g (%v), want %g", results["run"][i], metric, got, err, want)
			}
		}
		last := 3*i + 2 // index of the row of round 4; the rows of a run are rounds 1, 2 and 4
		if trace["log_likelihood"][last] != results["log_likelihood"][i] || trace["accuracy"][last] != results["accuracy"][i] {
			t.Errorf("run %s ends elsewhere than its trace", results["run"][i])
		}
	}
	for _, name := range []string{"by-sd.svg", "by-round.png", "by-metric.svg", "by-share.svg"} {
		if found[name] == "" {
			t.Errorf("%s was not drawn", name)
		}
	}
	if !strings.Contains(found["by-sd.svg"], "pooled, without privacy") || !strings.Contains(found["by-sd.svg"], "elsewhere") {
		t.Error("the comparisons are not in the legend")
	}
	checkSummary(t, found, results)
}

func play(t *testing.T, path, sd, seed string) *sim.Result {
	t.Helper()
	st, err := sim.LoadStudy(path, []string{"prior.sd=" + sd, "simulation.test=0.33"})
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sim.NewPlay(st, sim.Options{StudyFile: path, Seed: number})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Run(context.Background(), func(sim.Status) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func checkSummary(t *testing.T, found map[string]string, results map[string][]string) {
	t.Helper()
	summary := table(t, found["summary.csv"])
	a, _ := strconv.ParseFloat(results["accuracy"][0], 64)
	b, _ := strconv.ParseFloat(results["accuracy"][1], 64)
	mean, err := strconv.ParseFloat(summary["accuracy_mean"][0], 64)
	if err != nil || math.Abs(mean-(a+b)/2) > 1e-12 {
		t.Errorf("mean accuracy %g, error %v; want the mean of %g and %g", mean, err, a, b)
	}
	sd, err := strconv.ParseFloat(summary["accuracy_sd"][0], 64)
	if err != nil || math.Abs(sd-math.Abs(a-b)/math.Sqrt2) > 1e-12 {
		t.Errorf("sd of accuracy %g, error %v; want the sd of %g and %g", sd, err, a, b)
	}
	lines := strings.Split(strings.TrimSpace(found["summary.md"]), "\n")
	if len(lines) != 6 || !strings.HasPrefix(lines[0], "| sd | held out | accuracy | below pooled | log likelihood |") {
		t.Errorf("summary.md begins with %q and has %d lines, want 6", lines[0], len(lines))
	}
	for _, line := range lines {
		if strings.Count(line, "|") != strings.Count(lines[0], "|") {
			t.Errorf("summary.md: %q has other columns than %q", line, lines[0])
		}
	}
}

func TestPlotErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"\"simulation.test\" = 0.33", "", "the plot of accuracy needs held-out records: write simulation.test"},
		{"trace = 2", "trace = 0", "needs sweep.trace"},
		{"trace = 2", "trace_predictions = true", "has no meaning without trace"},
		{"y = \"accuracy\"", "y = \"kl\"", "needs y = \"accuracy\", \"log_likelihood\" or \"auc\""},
		{"[0.6, 0.7]", "[0.6]", "has 1 values for 2 points"},
		{"[1, 1.5]", "[1, \"two\"]", "must be numbers, or cases"},
		{"[\"none\"]", "[\"nine\"]", "must be numbers, or cases"},
		{"y = 0.5 }", "}", "write the position of the line"},
		{"line = [", "log_y = true\nline = [{ label = \"zero\", y = 0 }, ", "must be positive on a logarithmic axis"},
		{"spread = \"sd\"", "spread = \"se\"", `"se" is unknown`},
	} {
		text := strings.Replace(predicted, c.old, c.new, 1)
		if text == predicted {
			t.Fatalf("no %q", c.old)
		}
		if _, err := sweep.Load(writePredicted(t, text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.new, err, c.want)
		}
	}
}
