package study_test

import (
	"fmt"
	"strings"
	"testing"

	"fedpvi/internal/document"
	"fedpvi/internal/testing/memory"
	"fedpvi/pvi/study"
)

// Parse reads even malicious documents of the largest size in the time that a few passes over them
// would take, and its errors are short. A quadratic algorithm would take minutes.
//
//abuse:case P01 a study of a mebibyte that is made to take long is refused at once, in a few words
//abuse:case P03 counts beyond the bounds of a study are refused before anything is made of them
func TestDocumentsThatAreMadeToTakeLong(t *testing.T) {
	// many returns a text with as many lines of the given format as the largest document can hold.
	many := func(format string) string {
		var b strings.Builder
		marks := 0
		for _, mark := range []string{",", "=", ".", "[", "{"} {
			marks += strings.Count(format, mark)
		}
		for i := 0; b.Len() < document.MaxSize-16<<10 && i*marks < 1<<15-200; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, source := range map[string]string{
		"levels":       strings.Replace(good, "levels = [", "levels = ["+many(`"l%d",`), 1),
		"terms":        strings.Replace(good, "terms = [", "terms = ["+many(`"a%d",`), 1),
		"crossings":    strings.Replace(good, "terms = [", "terms = ["+many(`"a%d*b*c*d*e*f*g*h",`), 1),
		"columns":      good + many("[[column]]\nname = \"c%d\"\ntype = \"numeric\"\nbounds = [0, 1]\n"),
		"unknown keys": many("k%d = 1\n") + good,
		"tables":       good + many("[t%d]\n"),
		"priors":       good + many("[prior.coefficients.c%d]\nsd = 1.0\n"),
		"names twice":  good + strings.Repeat("[[column]]\nname = \"x\"\n", document.MaxSize/24-1000),
		"deep":         good + "x = " + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		"marks":        good + "x = [" + strings.Repeat("1,", document.MaxSize/2-16<<10) + "]",
		"long key":     strings.Repeat("k", document.MaxSize/2) + " = 1\n" + good,
		"long table":   good + "[" + strings.Repeat("k", document.MaxSize/2) + "]\n" + many("k%d = 1\n"),
		"deep table":   good + "[" + strings.Repeat("k.", 30_000) + "k]\n",
		"deep key":     strings.Repeat("k.", 30_000) + "k = 1\n" + good,
		"deep inline":  good + "x = " + strings.Repeat("{k=", 9_000) + "1" + strings.Repeat("}", 9_000),
		"long lines":   good + "# " + strings.Repeat("k", document.MaxSize/2),
	} {
		if len(source) > document.MaxSize {
			t.Fatalf("%s: %d bytes are too many to be read at all", name, len(source))
		}
		_, err := study.Parse("hostile.toml", []byte(source))
		if may := name == "columns" || name == "long lines"; err == nil {
			if !may {
				t.Errorf("%s: accepted", name)
			}
		} else if n := len(err.Error()); n > 2*document.MaxSize {
			t.Errorf("%s: the error has %d bytes", name, n)
		}
	}
}

// A program of many short tokens needs no more memory than other studies.
//
//abuse:case A12 a program of many tokens takes bounded memory
func TestMemoryOfPrograms(t *testing.T) {
	const data = "data { int N; vector[N] x; } parameters { real a; } model { "
	for name, program := range map[string]string{
		"brackets":   "data { int N; vector[N" + strings.Repeat("(", 40_000) + "] x; }",
		"signs":      data + "a ~ normal(" + strings.Repeat("!", 40_000) + "1, 1); }",
		"sums":       data + "a ~ normal(" + strings.Repeat("1+", 20_000) + "1, 1); }",
		"arguments":  data + "a ~ normal(" + strings.Repeat("1,", 20_000) + "1); }",
		"statements": data + strings.Repeat("a~f(1);", 7_000) + " }",
		"semicolons": data + strings.Repeat(";", 40_000) + " }",
		"parameters": "data { int N; vector[N] x; } parameters { " + strings.Repeat("real a;", 7_000) + " }",
	} {
		source := []byte("study = { version = 3, name = \"f\" }\nmodel = { program = '''" + program + "''' }\n[[column]]\nname = \"x\"\ntype = \"numeric\"\nbounds = [0, 1]\n")
		before := t.Failed()
		memory.Document(t, len(source), func() { study.Parse("hostile.toml", source) })
		if t.Failed() && !before {
			t.Error(name)
		}
	}
}
