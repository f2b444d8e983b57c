package sweep_test

import (
	"context"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/sim/sweep"
)

const small = `
[sweep]
name = "small"
study = "one.toml"
seeds = 3
trace = 2

[random]
"model.noise_sd" = [0.5, 2.0]

[[axis]]
name = "clip"
key = "privacy.clip"
values = [1, 5.5]

[[axis]]
name = "factors"

[[axis.case]]
label = "tied, damped"
set = { "inference.factors" = "tied", "inference.damping" = 0.5 }

[[axis.case]]
label = "published"
set = { "inference.factors" = "published" }

[[plot]]
file = "clip"
x = "clip"
y = "kl"
by = "factors"
log_x = true
log_y = true

[[plot]]
file = "round"
x = "round"
y = "epsilon"
by = "factors"
where = { clip = "5.5" }

[[plot]]
file = "factors"
x = "factors"
y = "true_epsilon"
`

// folderWith returns the path of the file sweep.toml in a new folder with the given files.
func folderWith(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		writeFile(t, filepath.Join(folder, name), content)
	}
	return filepath.Join(folder, "sweep.toml")
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long arithmetic of one thread: without -short")
	}
}

func readRows(t *testing.T, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// write writes a sweep file and its study to a folder, and returns the path of the sweep file.
func write(t *testing.T, text string) string {
	t.Helper()
	study := readFile(t, filepath.Join("..", "..", "experiments", "linear", "one-parameter.toml"))
	return folderWith(t, map[string]string{"one.toml": strings.Replace(study, "rounds = 100", "rounds = 6", 1), "sweep.toml": text})
}

func load(t *testing.T, text string) *sweep.Spec {
	t.Helper()
	spec, err := sweep.Load(write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func open(t *testing.T, folder string, spec *sweep.Spec) *sweep.Results {
	t.Helper()
	results, err := sweep.OpenResults(folder, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { results.Close() })
	return results
}

func ignore(int) {}

// complete runs a sweep to its end, and returns the contents of its files by name.
func complete(t *testing.T, folder string, spec *sweep.Spec, workers int) map[string]string {
	t.Helper()
	results := open(t, folder, spec)
	if err := spec.Run(context.Background(), results, workers, ignore); err != nil {
		t.Fatal(err)
	}
	if err := results.Finish(); err != nil {
		t.Fatal(err)
	}
	return files(t, folder)
}

func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for _, e := range entries {
		contents[e.Name()] = readFile(t, filepath.Join(folder, e.Name()))
	}
	return contents
}

func compare(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %s differs", what, name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d files, want %d", what, len(got), len(want))
	}
}

func TestWorkersChangeNothing(t *testing.T) {
	spec := load(t, small)
	one := complete(t, filepath.Join(t.TempDir(), "one"), spec, 1)
	two := complete(t, filepath.Join(t.TempDir(), "two"), spec, 2)
	compare(t, "two workers", two, one)

	rows := readRows(t, one["results.csv"])
	if len(rows) != 1+12 {
		t.Fatalf("results.csv has %d rows; want a header and 12", len(rows))
	}
	if got := strings.Join(rows[0], " "); !strings.HasPrefix(got, "run clip factors seed kl ") {
		t.Errorf("header %q", got)
	}
	// The runs are ordered so that the seed varies fastest, then the last axis, then the axis
	// before it.
	if got := strings.Join(rows[4][:4], "|"); got != "4|1|published|1" {
		t.Errorf("the fourth run is %q", got)
	}
	if trace := readRows(t, one["trace.csv"]); len(trace) != 1+12*4 { // there are trace rows for the rounds 1, 2, 4 and 6
		t.Errorf("trace.csv has %d rows; want a header and 48", len(trace))
	}
}

// A run depends on its seed, but not on first_seed.
func TestFirstSeed(t *testing.T) {
	slow(t)
	rows := func(text string) [][]string {
		return readRows(t, complete(t, filepath.Join(t.TempDir(), "out"), load(t, text), 1)["results.csv"])
	}
	first := rows(small)
	later := rows(strings.Replace(small, "seeds = 3", "seeds = 1\nfirst_seed = 3", 1))
	for cell := range 4 {
		got, want := later[1+cell], first[1+3*cell+2]
		if strings.Join(got[1:], " ") != strings.Join(want[1:], " ") { // all columns except the number of the run
			t.Errorf("cell %d with seed 3 is %v, want %v", cell, got, want)
		}
	}
}

// After a sweep has been stopped, even in the middle of a row, resuming it must give the same files
// as a sweep that was not interrupted.
func TestResume(t *testing.T) {
	spec := load(t, small)
	want := complete(t, filepath.Join(t.TempDir(), "whole"), spec, 1)
	// With one worker, the sweep stops at once. With two, the other worker may start a few more
	// runs, but not all of them.
	for _, c := range []struct{ stop, workers int }{{0, 2}, {1, 2}, {7, 1}, {11, 1}} {
		if testing.Short() && c.workers == 1 {
			continue // these cases have one thread, and are slow under the race detector
		}
		folder := filepath.Join(t.TempDir(), "stopped")
		results := open(t, folder, spec)
		ctx, cancel := context.WithCancel(context.Background())
		if c.stop == 0 {
			cancel()
		}
		err := spec.Run(ctx, results, c.workers, func(runs int) {
			if runs >= c.stop {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped after %d runs: %v", c.stop, err)
		}
		results.Close()
		// A process that is killed during a write can leave incomplete last rows like these.
		for name, rest := range map[string]string{"results.csv": "8,1,pub", "trace.csv": "12,5.5,published,3,2,0.1,2\n12,5.5"} {
			file, err := os.OpenFile(filepath.Join(folder, name), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.WriteString(rest); err != nil {
				t.Fatal(err)
			}
			file.Close()
		}
		again := open(t, folder, spec)
		if !strings.Contains(again.Notice, "the sweep was stopped while it wrote here") {
			t.Errorf("the notice does not mention the incomplete rows: %q", again.Notice)
		}
		if again.Runs() < c.stop || c.workers == 1 && again.Runs() > c.stop {
			t.Errorf("%d runs are kept of %d", again.Runs(), c.stop)
		}
		again.Close()
		compare(t, "resumed", complete(t, folder, spec, 2), want)
	}
}

func TestFolderErrors(t *testing.T) {
	slow(t)
	spec := load(t, small)
	folder := filepath.Join(t.TempDir(), "results")
	complete(t, folder, spec, 1)
	damage := func(name, old, new string) func() {
		path := filepath.Join(folder, name)
		content := readFile(t, path)
		if !strings.Contains(content, old) {
			t.Fatalf("%s has no %q", name, old)
		}
		writeFile(t, path, strings.Replace(content, old, new, 1))
		return func() { writeFile(t, path, content) }
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"results.csv", "\n3,1,", "\n3,2,", "results.csv:4: the row is not that of run 3"},
		{"results.csv", "\n3,1,", "\n3,", "results.csv:4: the row is not that of run 3"},
		{"results.csv", "run,clip", "run,clap", "results.csv:1: the columns are not those"},
		{"results.csv", "\n3,1,", "\n\"3,1,", "results.csv:4: the row cannot be read"},
		{"trace.csv", "\n3,1,", "\nthree,1,", "trace.csv:10: the number of the run is not in the sweep"},
		{"sweep.json", `"version": 2`, `"version": 1`, "was begun by another version of this program (its format is 1, this one's 2)"},
		{"sweep.json", `"digest": "`, `"digest": "0`, "has changed since the folder was begun"},
	} {
		mend := damage(c.name, c.old, c.new)
		before := files(t, folder)
		_, err := sweep.OpenResults(folder, spec)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %q: %v, want an error with %q", c.name, c.new, err, c.want)
		}
		compare(t, "refused folder", files(t, folder), before)
		mend()
	}
	other := t.TempDir()
	if _, err := sweep.OpenResults(other, spec); err == nil || !strings.Contains(err.Error(), "holds no sweep") {
		t.Errorf("a folder of something else: %v", err)
	}
}

func TestDataChanged(t *testing.T) {
	slow(t)
	text := strings.Replace(small, "[random]\n\"model.noise_sd\" = [0.5, 2.0]", "[set]\n\"simulation.synthetic\" = \"\"\n\"simulation.data\" = \"records.csv\"\n\"simulation.clients\" = 4", 1)
	path := write(t, text)
	data := filepath.Join(filepath.Dir(path), "records.csv")
	load := func(records string) *sweep.Spec {
		writeFile(t, data, "x,y\n"+strings.Repeat(records, 20))
		spec, err := sweep.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		return spec
	}
	folder := filepath.Join(t.TempDir(), "results")
	complete(t, folder, load("1,2\n"), 1)
	if _, err := sweep.OpenResults(folder, load("1,3\n")); err == nil || !strings.Contains(err.Error(), "the file of records records.csv has changed since the folder was begun") {
		t.Errorf("changed records: %v", err)
	}
	open(t, folder, load("1,2\n"))
	if err := os.Remove(data); err != nil {
		t.Fatal(err)
	}
	if _, err := sweep.Load(path); err == nil || !strings.Contains(err.Error(), "records.csv is neither beside the study nor in") {
		t.Errorf("no records: %v", err)
	}
}

func TestNonPrivateHasNoEpsilon(t *testing.T) {
	text := `
[sweep]
name = "none"
study = "one.toml"
seeds = 2
trace = 2
[set]
"privacy.epsilon" = ""
"privacy.noise_multiplier" = ""
"privacy.delta" = ""
"privacy.clip" = ""
"privacy.coordinates" = ""
"privacy.unit" = "none"
[[axis]]
name = "damping"
key = "inference.damping"
values = [0.5, 1.0]
[[plot]]
file = "epsilon"
x = "round"
y = "epsilon"
`
	found := complete(t, filepath.Join(t.TempDir(), "none"), load(t, text), 1)
	for _, name := range []string{"results.csv", "trace.csv", "summary.csv"} {
		for column, values := range table(t, found[name]) {
			if strings.Contains(column, "epsilon") && strings.Join(values, "") != "" {
				t.Errorf("%s: %s is %q", name, column, values)
			}
		}
	}
}

// standIns creates empty files in place of public data sets, because checking a sweep only hashes
// them.
func standIns(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"adult/adult.data", "adult/adult.test", "abalone/abalone.data", "breast_cancer/wdbc.data"} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, "")
	}
	t.Setenv("FEDPVI_DATA", folder)
}

func TestExperiments(t *testing.T) {
	standIns(t)
	paths, err := filepath.Glob(filepath.Join("..", "..", "experiments", "*", "*.toml"))
	if err != nil {
		t.Fatal(err)
	}
	sweeps := 0
	for _, path := range paths {
		if !strings.Contains(readFile(t, path), "\n[sweep]\n") {
			continue
		}
		sweeps++
		if _, err := sweep.Load(path); err != nil {
			t.Error(err)
		}
	}
	if sweeps == 0 {
		t.Error("no sweeps were found")
	}
}

// BenchmarkFigure48 runs the complete sweep of figure 4.8 on two cores: 500 runs of 100 rounds with
// 20 clients.
func BenchmarkFigure48(b *testing.B) {
	spec, err := sweep.Load(filepath.Join("..", "..", "experiments", "linear", "fig-4-8.toml"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		results, err := sweep.OpenResults(filepath.Join(b.TempDir(), "results"), spec)
		if err != nil {
			b.Fatal(err)
		}
		if err := spec.Run(context.Background(), results, 2, ignore); err != nil {
			b.Fatal(err)
		}
		if err := results.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
