package study_test

import (
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

// private is the study that most tests change by overrides.
const private = `
study = { version = 1, name = "private" }
column = [
  { name = "x", type = "numeric", bounds = [-1, 1] },
  { name = "g", type = "categorical", levels = ["a", "b"] },
  { name = "y", type = "numeric", bounds = [0, 9] },
]
model = { family = "logistic", outcome = "y", positive = ">= 0.5", terms = ["x"] }
inference = { rounds = 3 }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
`

func parse(t *testing.T, source string, overrides ...study.Override) *study.Study {
	t.Helper()
	s, err := study.Parse("t.toml", []byte(source), overrides...)
	if err != nil {
		t.Fatalf("%v: %v", overrides, err)
	}
	return s
}

// expect checks that Parse accepts the study if want is empty. Otherwise Parse must refuse it with
// an error that gives the place and contains want. expect returns the study, or nil if Parse
// refused it.
func expect(t *testing.T, source, want string, overrides ...study.Override) *study.Study {
	t.Helper()
	s, err := study.Parse("t.toml", []byte(source), overrides...)
	if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), "t.toml:") || !strings.Contains(err.Error(), want)) {
		t.Errorf("%v: %v, want an error with %q", overrides, err, want)
	}
	return s
}

// set returns overrides for settings of the form key=value. An empty value removes the key.
func set(settings ...string) []study.Override {
	var all []study.Override
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		all = append(all, study.Override{Key: key, Value: value})
	}
	return all
}

// with returns the overrides of both lists.
func with(base []study.Override, settings ...string) []study.Override {
	return append(base[:len(base):len(base)], set(settings...)...)
}

// edit replaces the first occurrence of old in source by new. It panics if there is none.
func edit(source, old, new string) string {
	if !strings.Contains(source, old) {
		panic("edit: no " + old)
	}
	return strings.Replace(source, old, new, 1)
}

// wards is the beginning of studies whose model is a formula or a program.
const wards = `
study = { version = 2, name = "wards" }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
column = [
  { name = "age", type = "numeric", bounds = [20, 90] },
  { name = "dose", type = "numeric", bounds = [1, 100], transform = "log" },
  { name = "falls", type = "numeric", bounds = [0, 9] },
  { name = "state", type = "categorical", levels = ["well", "sick"] },
  { name = "ward", type = "categorical", levels = ["a", "b", "c"] },
]
`
