package study_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

const programText = "data {\n  int N;\n  int J;\n  matrix[N, 2] X;\n  array[N] int<lower=0, upper=1> sick;\n  array[N] int<lower=1, upper=J> ward;\n  vector[2] s;\n}\nparameters {\n  real a;\n}\nmodel {\n  a ~ normal(0, 1);\n  sick ~ bernoulli_logit(a);  // \"sick\" \\ é\n}\n"

const programStudy = `[study]
version = 2
name = "wards"
[[column]]
name = "age"
type = "numeric"
bounds = [20, 90]
[[column]]
name = "dose"
type = "numeric"
bounds = [1, 100]
transform = "log"
[[column]]
name = "state"
type = "categorical"
levels = ["well", "sick"]
[[column]]
name = "ward"
type = "categorical"
levels = ["a", "b", "c"]
[model]
program = "wards.stan"
[model.data]
X = ["age", "dose"]
sick = { column = "state", is = "sick" }
J = { levels = "ward" }
s = [1.0, 2.5]
"mean(age)" = 54.2
[model.complete]
b = "normal(0, 1)"
[inference]
solver = "dp-svi"
rounds = 5
intervals = "none"
[privacy]
unit = "record"
epsilon = 1.0
delta = 1e-5
clip = 2.0
`

// Attach puts the text of the program into the document, so that the digest covers it. A value that
// is not the name of a file beside the study is refused.
func TestAttach(t *testing.T) {
	text := programText
	read := func(name string) ([]byte, error) {
		if name != "folder/wards.stan" {
			return nil, errors.New("no such file: " + name)
		}
		return []byte(text), nil
	}
	attach := func(source string) (*study.Study, error) {
		document, err := study.Attach("folder/study.toml", []byte(source), read)
		if err != nil {
			return nil, err
		}
		return study.Parse("study.toml", document)
	}
	st, err := attach(programStudy)
	if err != nil {
		t.Fatal(err)
	}
	if st.Model.Program.Tree.Text != programText {
		t.Errorf("the program is\n%s", st.Model.Program.Tree.Text)
	}
	again, err := study.Attach("folder/study.toml", st.Source, func(string) ([]byte, error) { return nil, os.ErrNotExist })
	if err != nil || string(again) != string(st.Source) {
		t.Errorf("a document with its program changes: %v", err)
	}
	text += "\n"
	if other, err := attach(programStudy); err != nil || other.Digest == st.Digest {
		t.Errorf("another program has the same digest: %v", err)
	}
	for _, name := range []string{"../wards.stan", "/etc/wards.stan", "absent.stan"} {
		if _, err := attach(strings.Replace(programStudy, "wards.stan", name, 1)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	if _, err := study.Parse("study.toml", []byte(programStudy)); err == nil || !strings.Contains(err.Error(), "is the name of a file") {
		t.Errorf("a document without the text of its program: %v", err)
	}
}

// The test checks that the method Number returns the values that the table data describes:
// transformed values of columns, numbers of levels, and indicators.
func TestNumbersOfAProgram(t *testing.T) {
	document, err := study.Attach("study.toml", []byte(programStudy), func(string) ([]byte, error) { return []byte(programText), nil })
	if err != nil {
		t.Fatal(err)
	}
	st, err := study.Parse("study.toml", document)
	if err != nil {
		t.Fatal(err)
	}
	var got []float64
	for _, v := range st.Model.Program.Variables {
		for _, p := range v.Parts {
			got = append(got, st.Number(p, []float64{54, 1, 1, 2}))
		}
	}
	want := []float64{54, 0, 1, 3} // age, log dose, whether sick, the number of the ward
	if len(got) != len(want) {
		t.Fatalf("%v, not %v", got, want)
	}
	for i, x := range want {
		if got[i] != x {
			t.Errorf("number %d is %g, not %g", i, got[i], x)
		}
	}
	p := st.Model.Program
	if p.Constants["J"].Values[0] != 3 || len(p.Constants["s"].Values) != 2 || p.Constants["mean(age)"].Values[0] != 54.2 || p.Complete["b"] != "normal(0, 1)" {
		t.Errorf("constants %v, completions %v", p.Constants, p.Complete)
	}
	if st.Counts(0) || st.Counts(1) || !p.Variables[1].Whole {
		t.Error("the whole numbers of the program are others")
	}
}

// The default solver of a program releases scores. It needs no clip, and it has intervals.
func TestDefaultSolverOfPrograms(t *testing.T) {
	source := programStudy
	for _, line := range []string{"solver = \"dp-svi\"\n", "rounds = 5\n", "intervals = \"none\"\n", "clip = 2.0\n"} {
		source = strings.Replace(source, line, "", 1)
	}
	document, err := study.Attach("study.toml", []byte(source), func(string) ([]byte, error) { return []byte(programText), nil })
	if err != nil {
		t.Fatal(err)
	}
	st, err := study.Parse("study.toml", document)
	if err != nil {
		t.Fatal(err)
	}
	if st.Inference.Solver != study.Scoring || !st.Honest() || st.Points() {
		t.Errorf("the solver is %q", st.Inference.Solver)
	}
}

// Parse refuses keys that have no meaning for a program. The error gives a remedy.
func TestKeysOfPrograms(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`X = ["age", "dose"]`, `X = ["age", "height"]`, "is not declared"},
		{`X = ["age", "dose"]`, `X = 3`, "write the name of a column"},
		{`is = "sick" }`, `is = "ill" }`, "not among the levels"},
		{`{ levels = "ward" }`, `{ levels = "age" }`, "number of levels"},
		{`s = [1.0, 2.5]`, `s = [[1.0], [2.5, 3.0]]`, "equal lengths"},
		{`s = [1.0, 2.5]`, `z = "age"`, "neither in the program's data block"},
		{`[model.data]`, "family = \"linear\"\n[model.data]", "beside program"},
		{`[model.data]`, "standardise = \"bounds\"\n[model.data]", "their own units"},
		{`clip = 2.0`, "", "clip: is missing"},
		{`intervals = "none"`, "", "intervals: is missing"},
		{`version = 2`, `version = 1`, "version 2"},
		{`[inference]`, "[prior]\nsd = 1.0\n[inference]", "beside model.program"},
	} {
		source := strings.Replace(programStudy, c.old, c.new, 1)
		document, err := study.Attach("study.toml", []byte(source), func(string) ([]byte, error) { return []byte(programText), nil })
		if err == nil {
			_, err = study.Parse("study.toml", document)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", c.new, err, c.want)
		}
	}
}
