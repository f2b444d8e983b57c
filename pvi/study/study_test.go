package study_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedpvi/accountant"
	"fedpvi/internal/testing/memory"
	"fedpvi/pvi/study"
)

// good is a study that uses most keys of the study language.
const good = `
[study]
version = 1
name = "pressure"
title = "Blood pressure"

[table]
separator = ";"
trim = true
missing = ["", "?"]

[[column]]
name = "sex"
type = "categorical"
levels = ["f", "m"]

[[column]]
name = "age"
type = "numeric"
unit = "years"
bounds = [20, 100]
outside = "clamp"

[[column]]
name = "smokes"
type = "categorical"
levels = ["never", "once", "now"]
missing = "impute"
impute = "never"

[[column]]
name = "stage"
type = "ordered"
levels = ["I", "II", "III"]
missing = "drop"

[[column]]
name = "pressure"
type = "numeric"
bounds = [80, 240]
outside = "drop"

[model]
family = "linear"
outcome = "pressure"
terms = ["age*sex", "smokes", "stage", "sex:smokes"]
noise_sd = 12.0

[prior]
sd = 2.0
coefficients.intercept = { mean = -0.3, sd = 0.5 }

[inference]
rounds = 10

[privacy]
unit = "client"
epsilon = 2.0
delta = 1e-5

[federation]
min_clients = 8
colluders = 2
nominal_records = 500

[simulation]
clients = 10
data = "pressure.csv"
partition = "label-skew"
size_skew = 0.5
label_skew = -1.0
label_threshold = 140
seed = 3
`

func TestParse(t *testing.T) {
	s := parse(t, good)
	want := study.Study{
		Digest: s.Digest, Source: []byte(good),
		Version: 1,
		Name:    "pressure", Title: "Blood pressure",
		Table: study.Table{Header: true, Separator: ';', Trim: true, Missing: []string{"", "?"}},
		Columns: []study.Column{
			{Name: "sex", Type: study.Categorical, Levels: []string{"f", "m"}, High: 1, Outside: study.Refuse, Missing: study.Refuse},
			{Name: "age", Type: study.Numeric, Unit: "years", Low: 20, High: 100, Outside: study.Clamp, Missing: study.Refuse},
			{Name: "smokes", Type: study.Categorical, Levels: []string{"never", "once", "now"}, High: 2, Outside: study.Refuse, Missing: study.Impute, Imputed: "never"},
			{Name: "stage", Type: study.Ordered, Levels: []string{"I", "II", "III"}, High: 2, Outside: study.Refuse, Missing: study.Drop},
			{Name: "pressure", Type: study.Numeric, Low: 80, High: 240, Outside: study.Drop, Missing: study.Refuse},
		},
		Model: study.Model{
			Family: "linear", Outcome: "pressure", Standardise: true, NoiseSD: 12,
			Terms: []study.Term{
				{},
				{Columns: []string{"age"}},
				{Columns: []string{"sex"}},
				{Columns: []string{"age", "sex"}},
				{Columns: []string{"smokes"}},
				{Columns: []string{"stage"}},
				{Columns: []string{"sex", "smokes"}},
			},
		},
		Prior:      study.Prior{SD: 2, Coefficients: map[string]study.Normal{"intercept": {Mean: -.3, SD: .5}}},
		Inference:  study.Inference{Q: "full", Schedule: study.Synchronous, Rounds: 10, Factors: study.Tied, Solver: "conjugate", Damping: study.Damping{Alpha: 1, Harmonic: true}, NoiseAware: study.NoNoiseAware},
		Privacy:    study.Privacy{Unit: study.Client, Adjacency: accountant.ZeroOut, Epsilon: 2, Delta: 1e-5, Centred: true},
		Federation: study.Federation{MinClients: 8, Colluders: 2, Opens: study.OpenSums, Aggregation: study.ByCoordinator, NominalRecords: 500, MaxRecords: 1_000_000, Combine: study.BySum},
		Simulation: study.Simulation{
			Data: []string{"pressure.csv"}, Clients: 10, Seed: 3,
			Partition: study.Partition{Kind: "label-skew", SizeSkew: .5, LabelSkew: -1, LabelThreshold: 140},
		},
	}
	if diff := cmp.Diff(want, *s); diff != "" {
		t.Errorf("study (-want +got):\n%s", diff)
	}
}

func TestCoefficients(t *testing.T) {
	s := parse(t, good)
	var names []string
	for c := range s.Coefficients() {
		names = append(names, c.Name)
	}
	want := []string{
		"intercept", "age", "sex[m]", "age:sex[m]", "smokes[once]", "smokes[now]", "stage",
		"sex[m]:smokes[once]", "sex[m]:smokes[now]",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("coefficients (-want +got):\n%s", diff)
	}
	// There are seven regressors, each between −1 and 1 on the model's scale.
	if squares, fourths := s.RegressorBounds(); squares != 7 || fourths != 7 {
		t.Errorf("regressor bounds %g, %g, want 7, 7", squares, fourths)
	}
	if unit := s.OutcomeUnit(); unit != 80 {
		t.Errorf("outcome unit %g, want half of 240 − 80", unit)
	}
	raw := parse(t, edit(good, "noise_sd", "standardise = \"none\"\nnoise_sd"))
	if squares, _ := raw.RegressorBounds(); squares != 1+100*100+1+100*100+1+2*2+1 {
		t.Errorf("regressor bounds without standardising: %g", squares)
	}
}

func TestScale(t *testing.T) {
	s := parse(t, good)
	age, _ := s.Column("age")
	for value, want := range map[float64]float64{20: -1, 60: 0, 100: 1, 80: .5} {
		if got := s.Scale(age, value); got != want {
			t.Errorf("age %g is scaled to %g, want %g", value, got, want)
		}
		if got := s.Unscale(age, want); got != value {
			t.Errorf("%g is scaled back to age %g, want %g", want, got, value)
		}
	}
	stage, _ := s.Column("stage")
	if got := s.Scale(stage, 1); got != 0 {
		t.Errorf("the middle of three levels is scaled to %g, want 0", got)
	}
}

func TestDamping(t *testing.T) {
	for _, c := range []struct {
		damping study.Damping
		t       int
		want    float64
	}{
		{study.Damping{Alpha: 1, Harmonic: true}, 1, 1},
		{study.Damping{Alpha: 1, Harmonic: true}, 4, .25},
		{study.Damping{Alpha: .3, Harmonic: true}, 11, .3 / 4},
		{study.Damping{Alpha: .1}, 99, .1},
	} {
		if got := c.damping.At(c.t); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%+v at %d: %g, want %g", c.damping, c.t, got, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		want           []string
	}{
		{"syntax", "rounds = 10", "rounds =", []string{"t.toml:54:9: "}},
		{"unknown key", "rounds = 10", "rounds = 10\nround = 3", []string{"t.toml:55:1: inference.round: unknown key (did you mean \"rounds\"?)"}},
		{"unknown table", "[inference]", "[inferrence]\nx = 1\n[inference]", []string{"t.toml:53:2: inferrence: unknown key (did you mean \"inference\"?)"}},
		{"wrong type", "rounds = 10", `rounds = "ten"`, []string{"t.toml:54:1: inference.rounds: must be a whole number, got the text \"ten\""}},
		{"fraction of a round", "rounds = 10", "rounds = 1.5", []string{"must be a whole number, got 1.5"}},
		{"not finite", "epsilon = 2.0", "epsilon = nan", []string{"privacy.epsilon: must be a finite number"}},
		{"future version", "version = 1", "version = 4", []string{"version 4 of the study language is unknown"}},
		{"name", `name = "pressure"`, `name = "Blood pressure"`, []string{"lower-case letters"}},
		{"separator", `separator = ";"`, `separator = ";;"`, []string{"t.toml:8:1: table.separator: must be one character"}},
		{"bounds swapped", "bounds = [20, 100]", "bounds = [100, 20]", []string{"t.toml:21:1: column.2.bounds: must be two numbers, the lower first"}},
		{"no bounds", "bounds = [20, 100]", "", []string{"column.2.bounds: is missing: write the smallest and the largest value"}},
		{"one level", `levels = ["f", "m"]`, `levels = ["f"]`, []string{"between 2 and"}},
		{"level twice", `levels = ["f", "m"]`, `levels = ["f", "f"]`, []string{`level "f" is declared twice`}},
		{"a level that clears the screen", `levels = ["f", "m"]`, `levels = ["f", "m\u001b[2J"]`, []string{`column.1.levels: "m\x1b[2J" has invisible characters`}},
		{"a title that turns round", `title = "Blood pressure"`, `title = "a \u202e b"`, []string{"study.title: ", "has invisible characters"}},
		{"a unit that rings", `unit = "years"`, `unit = "\u0007"`, []string{"column.2.unit: ", "has invisible characters"}},
		{"clamped level", `levels = ["f", "m"]`, `levels = ["f", "m"]` + "\noutside = \"clamp\"", []string{`column.1.outside: "clamp" is unknown`}},
		{"column twice", `name = "age"`, `name = "sex"`, []string{`column "sex" is declared twice`}},
		{"column name", `name = "age"`, `name = "age:x"`, []string{"cannot be used in a term"}},
		{"column named intercept", `name = "age"`, `name = "intercept"`, []string{"cannot be used in a term"}},
		{"imputed level", `impute = "never"`, `impute = "often"`, []string{`"often" is not among the levels`}},
		{"imputing nothing", `impute = "never"`, ``, []string{"column.3.impute: is missing"}},
		{"imputed without policy", `missing = "impute"`, ``, []string{`is used only with missing = "impute"`}},
		{"no outcome column", `outcome = "pressure"`, `outcome = "pulse"`, []string{`column "pulse" is not declared`}},
		{"categorical outcome", `outcome = "pressure"`, `outcome = "smokes"`, []string{"the outcome of a linear model is numeric"}},
		{"undeclared term", `terms = ["age*sex"`, `terms = ["ages*sex"`, []string{`model.terms: column "ages" is not declared`}},
		{"outcome in a term", `terms = ["age*sex"`, `terms = ["age:pressure"`, []string{"cannot explain itself"}},
		{"empty term", `terms = ["age*sex"`, `terms = ["age:"`, []string{"is not a term"}},
		{"square", `terms = ["age*sex"`, `terms = ["age:age"`, []string{`contains "age" twice`}},
		{"crossing too much", `terms = ["age*sex"`, `terms = ["a*a*a*a*a*a*a*a*a*a"`, []string{"crosses too many columns"}},
		{"noise", "noise_sd = 12.0", "noise_sd = 0", []string{"must be positive"}},
		{"improper prior", "sd = 2.0", "sd = 0", []string{"prior.sd: must be positive: an improper prior"}},
		{"prior of nothing", "coefficients.intercept", "coefficients.constant", []string{"no coefficient of this name"}},
		{"rounds", "rounds = 10", "rounds = 0", []string{"must lie between 1 and"}},
		{"damping", "rounds = 10", "rounds = 10\ndamping = 1.5", []string{"inference.damping: must lie in (0, 1]"}},
		{"solver", "rounds = 10", "rounds = 10\nsolver = \"clipped-analytical\"", []string{`with privacy.unit = "client" the solver is "conjugate"`}},
		{"sequential clients", "rounds = 10", "rounds = 10\nschedule = \"sequential\"\nfactors = \"exact\"", []string{"opens the change of one client at a time"}},
		{"tied taking turns", "rounds = 10", "rounds = 10\nschedule = \"asynchronous\"", []string{"tied factors change with every move"}},
		{"epsilon and sigma", "epsilon = 2.0", "epsilon = 2.0\nnoise_multiplier = 1.0", []string{"t.toml:59:1: privacy.noise_multiplier: follows from epsilon and delta"}},
		{"neither", "epsilon = 2.0", "", []string{"privacy.epsilon: is missing: write the target"}},
		{"no delta", "delta = 1e-5", "", []string{"privacy.delta: is missing"}},
		{"delta", "delta = 1e-5", "delta = 1", []string{"must lie in (0, 1)"}},
		{"no unit", `unit = "client"`, "", []string{"privacy.unit: is missing"}},
		{"adjacency of records", `unit = "client"`, "unit = \"client\"\nadjacency = \"add-remove\"", []string{`"add-remove" is not an adjacency of clients: use "zero-out" or "replace-one"`}},
		{"promise of nothing", `unit = "client"`, `unit = "none"`, []string{`privacy.epsilon: has no meaning with unit = "none"`, "privacy.delta"}},
		{"clip", "epsilon = 2.0", "epsilon = 2.0\nclip = -1", []string{"privacy.clip: must be positive"}},
		{"no clip", "nominal_records = 500", "", []string{"privacy.clip: is missing"}},
		{"centred records", `unit = "client"`, "unit = \"record\"\ncoordinates = \"centred\"", []string{`centred coordinates are for unit = "client"`}},
		{"colluders", "colluders = 2", "colluders = 8", []string{"know all the noise"}},
		{"negative colluders", "colluders = 2", "colluders = -1", []string{"must not be negative"}},
		{"too few clients", "clients = 10\n", "clients = 4\n", []string{"4 clients are fewer than federation.min_clients = 8"}},
		{"which records are held out", "clients = 10\n", "clients = 10\ntest_records = \"last\"\n", []string{"write test, their share"}},
		{"odd clients", "clients = 10\n", "clients = 11\n", []string{"must be even"}},
		{"two sources", `data = "pressure.csv"`, "data = \"pressure.csv\"\nsynthetic.records_per_client = 3", []string{"either data, a file, or"}},
		{"no source", `data = "pressure.csv"`, "", []string{"give one source of records"}},
		{"skew without label", `partition = "label-skew"`, `partition = "by-size"`, []string{`label_skew: has no meaning with partition = "by-size"`}},
		{"partition", `partition = "label-skew"`, `partition = "skewed"`, []string{`"skewed" is unknown`}},
		{"site column", `partition = "label-skew"`, "partition = \"column\"\ncolumn = \"age\"", []string{`column "age" is numeric`}},
		{"seed", "seed = 3", "seed = -3", []string{"must not be negative"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := study.Parse("t.toml", []byte(edit(good, c.old, c.new)))
			if err == nil {
				t.Fatal("the study is accepted")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error\n%v\ndoes not say %q", err, want)
				}
			}
		})
	}
}

func TestCentredPublished(t *testing.T) {
	expect(t, good, "has no centred coordinates", set(`inference.factors="published"`, `privacy.coordinates="centred"`)...)
}

// Parse reports a value of the wrong type only once.
func TestWrongTypes(t *testing.T) {
	for _, key := range []string{
		"inference.rounds", "model.noise_sd", "prior.sd", "simulation.clients", "simulation.size_skew", "simulation.label_skew",
		"simulation.label_threshold", "simulation.seed", "privacy.epsilon", "privacy.delta", "federation.min_clients", "federation.colluders",
	} {
		_, err := study.Parse("t.toml", []byte(good), study.Override{Key: key, Value: "[]"})
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), key+": must be ") {
			t.Errorf("%s = []: %v, want one error about its type", key, err)
		}
	}
}

// Parse reports all problems, once each, in the order of the file.
func TestErrorsAreJoined(t *testing.T) {
	source := edit(edit(edit(good, "rounds = 10", "rounds = -1"), "noise_sd = 12.0", "noise_sd = -1"), "seed = 3", "sead = 3")
	_, err := study.Parse("t.toml", []byte(source))
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		t.Fatalf("error %v is not joined", err)
	}
	var lines []string
	for _, e := range joined.Unwrap() {
		key, _, _ := strings.Cut(strings.SplitN(e.Error(), ": ", 2)[1], ":")
		lines = append(lines, key)
	}
	if diff := cmp.Diff([]string{"model.noise_sd", "inference.rounds", "simulation.sead"}, lines); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestOverrides(t *testing.T) {
	s := parse(t, good, set("privacy.epsilon=0.5", "inference.factors=exact", "simulation.seed=")...)
	if s.Privacy.Epsilon != .5 || s.Inference.Factors != study.Exact || s.Simulation.Seed != 1 {
		t.Errorf("overridden study has ε = %g, factors %q, seed %d", s.Privacy.Epsilon, s.Inference.Factors, s.Simulation.Seed)
	}
	again := parse(t, string(s.Source))
	if again.Digest != s.Digest || s.Digest == parse(t, good).Digest {
		t.Error("the digest of an overridden study is not that of its own source")
	}
	for _, bad := range set("privacy.epsilom=1", "study.name.x=1", ".=1", "inference.rounds=many") {
		if _, err := study.Parse("t.toml", []byte(good), bad); err == nil {
			t.Errorf("override %+v is accepted", bad)
		}
	}
}

// Parse accepts all studies in the repository.
func TestExperiments(t *testing.T) {
	var files []string
	err := filepath.WalkDir(filepath.Join("..", "..", "experiments"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".toml" {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(source), "\n[study]\n") {
			files = append(files, path)
			if source, err = study.Attach(path, source, os.ReadFile); err != nil {
				return err
			}
			if _, err := study.Parse(path, source); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	if err != nil || len(files) == 0 {
		t.Errorf("no studies were found: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("[study]\nname = 3"))
	f.Add([]byte("column = 1\n[[column]]"))
	f.Add([]byte(strings.Replace(families, "MODEL", `family = "probit", outcome = "age", positive = "> 50", terms = ["gain"], groups = ["age | clinic"]`, 1)))
	f.Add([]byte("[[column]]\nname.x = 1\n[model]\nterms = [[\"a\"]]"))
	f.Fuzz(func(t *testing.T, source []byte) {
		memory.Document(t, len(source), func() { study.Parse("fuzz.toml", source) })
		s, err := study.Parse("fuzz.toml", source)
		if err != nil {
			return
		}
		if s.Model.Family == study.Mixture {
			return // a mixture has no coefficients and no outcome
		}
		if n := len(slices.Collect(s.Coefficients())); n == 0 {
			t.Fatal("an accepted study has no coefficient")
		}
		if _, ok := s.Column(s.Model.Outcome); !ok {
			t.Fatal("an accepted study has no outcome")
		}
	})
}
