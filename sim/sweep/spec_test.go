package sweep_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fedpvi/sim/sweep"
)

func TestLoadErrors(t *testing.T) {
	edit := func(old, new string) string {
		if !strings.Contains(small, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(small, old, new, 1)
	}
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", edit("seeds = 3", "seeds = 3\nseats = 2"), `sweep.toml:6:1: sweep.seats: unknown key (did you mean "seeds"?)`},
		{"no seeds", edit("seeds = 3", ""), "sweep.seeds: is missing"},
		{"negative seed", edit("seeds = 3", "seeds = 3\nfirst_seed = -1"), "sweep.first_seed: must not be negative, got -1"},
		{"no study", edit("one.toml", "two.toml"), "no such file"},
		{"bad value", edit("[1, 5.5]", "[-1, 5.5]"), "cell clip = -1, factors = tied, damped: "},
		{"unknown setting", edit("privacy.clip", "privacy.clap"), "privacy.clap: unknown key"},
		{"no values", edit("[1, 5.5]", "[]"), "the axis has no point"},
		{"axis twice", edit(`name = "clip"`, `name = "factors"`), `two axes are named "factors"`},
		{"unknown x", edit(`x = "clip"`, `x = "clap"`), `"clap" is unknown (did you mean "clip"?)`},
		{"unknown metric", edit(`y = "kl"`, `y = "lk"`), `"lk" is unknown`},
		{"metric of a trace", edit(`y = "epsilon"`, `y = "true_epsilon"`), `use "kl", "epsilon", "accuracy"`},
		{"unknown case", edit(`clip = "5.5"`, `clip = "6.5"`), `the axis has no case "6.5"`},
		{"no trace", edit("trace = 2", ""), "needs sweep.trace"},
		{"path", edit(`file = "clip"`, `file = "../clip"`), "a name without folders"},
		{"random bounds", edit("[0.5, 2.0]", "[2.0, 0.5]"), "the bounds of a uniform draw"},
		{"too many runs", edit("seeds = 3", "seeds = 1_000_000"), "at most 1000000 are possible"},
	} {
		if _, err := sweep.Load(write(t, c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
	}
}

func TestStudyFromTheRoot(t *testing.T) {
	beside := write(t, small)
	elsewhere := filepath.Join(t.TempDir(), "sweep.toml")
	absolute := filepath.ToSlash(filepath.Join(filepath.Dir(beside), "one.toml"))
	text := strings.Replace(small, `"one.toml"`, strconv.Quote(absolute), 1)
	writeFile(t, elsewhere, text)
	if _, err := sweep.Load(elsewhere); err != nil {
		t.Error(err)
	}
}
