package sim

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/study"
)

// long reports whether the tests run in their long versions.
func long() bool { return os.Getenv("FEDPVI_LONG") != "" }

// slow skips a test that takes seconds on one thread when only short tests are wanted.
func slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("long arithmetic of one thread: without -short")
	}
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func parse(t testing.TB, name, text string, overrides ...study.Override) *study.Study {
	t.Helper()
	st, err := study.Parse(name, []byte(text), overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func experiment(t testing.TB, name string, settings ...string) (*study.Study, string) {
	t.Helper()
	path := filepath.Join("..", "experiments", filepath.FromSlash(name))
	return load(t, path, settings), path
}

func load(t testing.TB, path string, settings []string) *study.Study {
	t.Helper()
	st, err := LoadStudy(path, settings)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func prepare(t testing.TB, st *study.Study, o Options) *Play {
	t.Helper()
	play, err := NewPlay(st, o)
	if err != nil {
		t.Fatal(err)
	}
	return play
}

// newPlay sets up a study. It skips the test if a data set is missing.
func newPlay(t testing.TB, st *study.Study, path string, workers int) *Play {
	t.Helper()
	for _, data := range st.Simulation.Data {
		if os.Getenv("FEDPVI_DATA") == "" {
			t.Setenv("FEDPVI_DATA", filepath.Join("..", "..", "shared", "data"))
		}
		if _, err := FindData(path, data); err != nil {
			t.Skip(err)
		}
	}
	return prepare(t, st, Options{StudyFile: path, Seed: st.Simulation.Seed, Workers: workers})
}

func run(t testing.TB, p *Play) *Result {
	t.Helper()
	result, err := p.Run(context.Background(), func(Status) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func finish(t testing.TB, f *Federation) {
	t.Helper()
	if err := f.Run(context.Background(), func(*pvi.Outcome) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

func moments(t testing.TB, family gaussian.Family, natural []float64) (mean []float64, cov *mat.SymDense) {
	t.Helper()
	mean, cov, err := family.Moments(natural)
	if err != nil {
		t.Fatal(err)
	}
	return mean, cov
}

func federate(t testing.TB, st *study.Study, holders []Holder, seed uint64, workers int) *Federation {
	t.Helper()
	f, err := New(st, holders, seed, workers)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func castOf(t testing.TB, st *study.Study, studyFile string, seed uint64) *cast {
	t.Helper()
	c, err := newCast(st, studyFile, "", seed)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
