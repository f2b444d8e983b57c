package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/internal/cli"
	"fedpvi/internal/testing/mistakes"
)

// tiny is a study without mistakes.
const tiny = `study = { version = 2, name = "tiny" }
model = { family = "poisson", outcome = "visits", terms = ["age", "sex"] }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
federation = { nominal_records = 100 }
[[column]]
name = "age"
type = "numeric"
unit = "years"
bounds = [18, 100]
[[column]]
name = "sex"
type = "categorical"
levels = ["f", "m"]
[[column]]
name = "visits"
type = "numeric"
bounds = [0, 20]
[simulation]
clients = 3
synthetic.records_per_client = 10
`

func TestMistakes(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var all []mistakes.Mistake
	for _, m := range []struct{ what, file, old, new, has string }{
		{"a misspelt key", "key.toml", "epsilon", "epsilom", "did you mean"},
		{"a text in place of a number", "text.toml", "1.0", "\"1.0\"", "number"},
		{"a negative ε", "negative.toml", "1.0", "-1.0", "positive"},
		{"a δ that promises nothing", "delta.toml", "1e-5", "0.5", "delta"},
		{"no privacy at all", "open.toml", "privacy = { unit = \"record\", epsilon = 1.0, delta = 1e-5 }\n", "", "privacy"},
		{"bounds in the wrong order", "bounds.toml", "[18, 100]", "[100, 18]", "bounds"},
		{"no bounds", "unbounded.toml", "bounds = [18, 100]\n", "", "bounds"},
		{"a date without the day from which years count", "since.toml", "\"numeric\"\nunit = \"years\"\nbounds = [18, 100]", "\"date\"\nbounds = [\"2015-01-01\", \"2024-12-31\"]", "since"},
		{"bounds of a date that are numbers", "numbers.toml", "\"numeric\"\nunit = \"years\"", "\"date\"\nsince = \"2020-01-01\"", "two days"},
		{"an unknown family", "family.toml", "poisson", "poison", "did you mean"},
		{"an unknown type of a column", "type.toml", "categorical", "factor", "categorical"},
		{"a level twice", "levels.toml", "\"f\", \"m\"", "\"f\", \"f\"", "f"},
		{"a column that is not declared", "terms.toml", "\"age\", \"sex\"", "\"age\", \"weight\"", "weight"},
		{"a column that is declared twice", "columns.toml", "name = \"sex\"", "name = \"age\"", "age"},
		{"an outcome of the wrong type", "outcome.toml", "outcome = \"visits\"", "outcome = \"sex\"", "sex"},
		{"a formula that does not end", "formula.toml", "outcome = \"visits\", terms = [\"age\", \"sex\"]", "formula = \"visits ~ age +\"", "formula"},
		{"an unknown function in a formula", "function.toml", "outcome = \"visits\", terms = [\"age\", \"sex\"]", "formula = \"visits ~ sqrtt(age)\"", "sqrtt"},
		{"a unit that does not protect anybody", "unit.toml", "\"record\"", "\"patient\"", "record"},
		{"no records to simulate with", "records.toml", "synthetic.records_per_client = 10\n", "", "a file"},
		{"a file that is not TOML", "plain.toml", "study = {", "study {", "plain.toml:1"},
	} {
		study, simulated, _ := strings.Cut(tiny, "[simulation]")
		text := strings.Replace(study, m.old, m.new, 1)
		if strings.Contains(simulated, m.old) {
			text = strings.Replace(tiny, m.old, m.new, 1)
		}
		if text == study {
			t.Errorf("%s: the file has no mistake", m.what)
		}
		write(m.file, text)
		all = append(all, mistakes.Mistake{Name: m.what, Args: []string{"plan", m.file, "--clients", "3"}, Code: exitFailed, Has: m.has})
	}
	write("tiny.toml", tiny)
	write("sweep.toml", "[sweep]\nname = \"sweep\"\nstudy = \"tiny.toml\"\nseeds = 2\n")
	write("other.csv", "weight,sex,visits\n70,f,1\n")
	write("good.csv", "age,sex,visits\n"+strings.Repeat("27,f,1\n", 3))
	write("range.csv", "age,sex,visits\n17,f,1\n")
	tables := strings.NewReplacer("model = { family = \"poisson\", outcome = \"visits\", terms = [\"age\", \"sex\"] }\n", "describe = {}\n", "synthetic.records_per_client = 10\n", "data = \"good.csv\"\n")
	write("tables.toml", tables.Replace(tiny))
	write("tables-sweep.toml", "[sweep]\nname = \"sweep\"\nstudy = \"tables.toml\"\nseeds = 2\n")
	command := mistakes.Program{Name: "sim", Run: run}
	command.Succeed(t, "run", "tables.toml", "--out", "tables", "-q")
	if err := os.Mkdir("results", 0o700); err != nil {
		t.Fatal(err)
	}
	all = append(all, []mistakes.Mistake{
		mistakes.Of("no study file", []string{"plan", "nothing.toml"}, cli.Usage, "no such file"),
		mistakes.Of("a sweep in place of a study", []string{"run", "sweep.toml"}, exitFailed, "sim sweep"),
		mistakes.Of("a table in place of a study", []string{"run", "other.csv"}, exitFailed, "other.csv:1"),
		mistakes.Of("records of another study", []string{"run", "tiny.toml", "--data", "other.csv"}, exitFailed, "age"),
		mistakes.Of("a value that does not fit the study", []string{"run", "tiny.toml", "--data", "range.csv"}, exitFailed, "range.csv:2"),
		mistakes.Of("a sweep over a study without a model", []string{"sweep", "tables-sweep.toml"}, exitFailed, "tables-sweep.toml: study tiny: it has no model"),
		mistakes.Of("predictions of a study without a model", []string{"predict", "tables", "--data", "good.csv", "--out", "p.csv"}, exitFailed, "the study has no model"),
		mistakes.Of("a comparison of studies without a model", []string{"compare", "tables", "tables", "--data", "good.csv"}, exitFailed, "the study has no model"),
		mistakes.Of("a folder of results that exists", []string{"run", "tiny.toml", "--data", "good.csv", "--out", "results"}, exitFailed, "choose another"),
		mistakes.Of("a misspelt key in --set", []string{"plan", "tiny.toml", "--set", "privacy.epsilom=2"}, exitFailed, "did you mean"),
		mistakes.Of("--set without a value", []string{"plan", "tiny.toml", "--set", "privacy.epsilon"}, exitFailed, "key=value"),
		mistakes.Of("no client", []string{"plan", "tiny.toml", "--clients", "0"}, exitFailed, "at least 1"),
		mistakes.Of("a misspelt flag", []string{"run", "tiny.toml", "--sead", "3"}, cli.Usage, "did you mean"),
		mistakes.Of("a misspelt command", []string{"plam", "tiny.toml"}, cli.Usage, "did you mean"),
	}...)
	p := mistakes.Program{Name: "sim", Run: run, Message: mistakes.Stderr("sim"), Hide: []string{folder + "/", ""}}
	p.Check(t, root, "studies", all)
}
