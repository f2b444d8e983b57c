package study_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

const programText = "data {\n  int N;\n  int J;\n  matrix[N, 2] X;\n  array[N] int<lower=0, upper=1> sick;\n  array[N] int<lower=1, upper=J> ward;\n  vector[2] s;\n}\nparameters {\n  real a;\n}\nmodel {\n  a ~ normal(0, 1);\n  sick ~ bernoulli_logit(a);  // \"sick\" \\ é\n}\n"

const programStudy = wards + `
inference = { solver = "dp-svi", rounds = 5, intervals = "none" }
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
`

// clipped sets the clipping bound that programStudy's solver needs.
var clipped = set("privacy.clip=2.0")

func attached(t *testing.T) string {
	t.Helper()
	document, err := study.Attach("study.toml", []byte(programStudy), func(string) ([]byte, error) { return []byte(programText), nil })
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}

// Attach puts the program's text into the document, so that the digest covers it. The key must be
// the name of a file next to the study.
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
		return study.Parse("study.toml", document, clipped...)
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
	expect(t, programStudy, "is the name of a file")
}

// Number returns the values that [model.data] asks for: transformed column values, numbers of
// levels, and indicators.
func TestNumbersOfAProgram(t *testing.T) {
	st := parse(t, attached(t), clipped...)
	var got []float64
	for _, v := range st.Model.Program.Variables {
		for _, p := range v.Parts {
			got = append(got, st.Number(p, []float64{54, 1, 4, 1, 2}))
		}
	}
	if want := []float64{54, 0, 1, 3}; !slices.Equal(got, want) { // age, log dose, whether the patient is sick, number of the ward
		t.Errorf("%v, not %v", got, want)
	}
	p := st.Model.Program
	if p.Constants["J"].Values[0] != 3 || len(p.Constants["s"].Values) != 2 || p.Constants["mean(age)"].Values[0] != 54.2 || p.Complete["b"] != "normal(0, 1)" {
		t.Errorf("constants %v, completions %v", p.Constants, p.Complete)
	}
	if st.Counts(0) || st.Counts(1) || !p.Variables[1].Whole {
		t.Error("the whole numbers of the program are others")
	}
}

// The default solver of a program releases scores. It needs no clipping bound and has intervals.
func TestDefaultSolverOfPrograms(t *testing.T) {
	st := parse(t, attached(t), set("inference=")...)
	if st.Inference.Solver != study.Scoring || !st.Honest() || st.Points() {
		t.Errorf("the solver is %q", st.Inference.Solver)
	}
}

func TestKeysOfPrograms(t *testing.T) {
	for setting, want := range map[string]string{
		`model.data.X=["age", "height"]`:   "is not declared",
		"model.data.X=3":                   "write the name of a column",
		`model.data.sick.is="ill"`:         "not among the levels",
		`model.data.J.levels="age"`:        "number of levels",
		"model.data.s=[[1.0], [2.5, 3.0]]": "equal lengths",
		`model.data.z="age"`:               "neither in the program's data block",
		`model.family="linear"`:            "beside program",
		`model.standardise="bounds"`:       "their own units",
		"privacy.clip=":                    "clip: is missing",
		"inference.intervals=":             "intervals: is missing",
		"study.version=1":                  "model.program: needs version 2",
		"prior.sd=1.0":                     "beside model.program",
		"simulation={ clients = 2, synthetic.records_per_client = 9 }": "the outcomes of a program cannot be drawn",
	} {
		expect(t, attached(t), want, with(clipped, setting)...)
	}
}
