package study

import (
	"strings"
	"testing"
)

const personStudy = `
study = { version = 2, name = "visits" }
table = { person = "patient" }
model = { family = "logistic", outcome = "y", positive = "yes", terms = ["x"] }
inference = {}
privacy = { unit = "person", epsilon = 1.0, delta = 1e-5 }
federation = {}
[[column]]
name = "x"
type = "numeric"
bounds = [0, 100]
[[column]]
name = "y"
type = "categorical"
levels = ["no", "yes"]
`

// The test checks the defaults of the unit person: a client uses one row of a person, and no person
// has rows at two clients.
func TestPersonDefaults(t *testing.T) {
	st, err := Parse("visits.toml", []byte(personStudy))
	if err != nil {
		t.Fatal(err)
	}
	p := st.Privacy
	if p.Unit != Person || p.RowsPerPerson != 1 || p.PeopleAcross != 1 || st.Table.Person != "patient" || p.Adjacency != "add-remove" || st.Inference.Solver != Scoring {
		t.Errorf("%+v of %q by %s", p, st.Table.Person, st.Inference.Solver)
	}
	if p.Rows() != 1 || st.Holders(3) != 1 || st.MessagesOfPerson(3) != 1 {
		t.Errorf("%d rows, %d holders of a sum, %d messages", p.Rows(), st.Holders(3), st.MessagesOfPerson(3))
	}
	across := strings.NewReplacer(`epsilon = 1.0`, `epsilon = 1.0, people_across = 5`, "federation = {}", `federation = { opens = "sums" }`)
	if st, err = Parse("visits.toml", []byte(across.Replace(personStudy))); err != nil || st.Holders(3) != 3 || st.MessagesOfPerson(3) != 1 {
		t.Errorf("%v: %d holders of a sum, want the 3 clients", err, st.Holders(3))
	}
}

// Parse refuses keys that contradict each other, and options without a privacy proof for persons.
// The error gives the remedy.
func TestPersonRefused(t *testing.T) {
	solver := func(keys string) []string { return []string{"inference = {}", "inference = { " + keys + " }"} }
	for want, edits := range map[string][]string{
		`unit: "person" needs the column that identifies the person of a row: write person = "patient" in [table]`: {`person = "patient"`, ""},
		`protects a single row: write privacy.unit = "person", or remove person`:                                   {`unit = "person"`, `unit = "record"`},
		`which protects all rows of a client`:                                                                      {`unit = "person", epsilon`, `unit = "client", epsilon`, "federation = {}", "federation = { nominal_records = 9 }"},
		`which protects nobody`:                                                                                    {`unit = "person", epsilon = 1.0, delta = 1e-5`, `unit = "none"`},
		`column "x" is declared with [[column]]`:                                                                   {`person = "patient"`, `person = "x"`},
		`write header = true`:                                                                                      {`person = "patient"`, `person = "patient", header = false`},
		`rows_per_person: is used only with unit = "person"`:                                                       {`person = "patient"`, "", `unit = "person"`, `unit = "record", rows_per_person = 2`},
		`people_across: is used only with unit = "person"`:                                                         {`person = "patient"`, "", `unit = "person"`, `unit = "record", people_across = 2`},
		`rows_per_person: must lie between 1 and 1000, got 0`:                                                      {`unit = "person"`, `unit = "person", rows_per_person = 0`},
		`write sampling = "poisson"`:                                                                               append(solver(`solver = "dp-svi", rounds = 1, sampling = "without-replacement", sampling_rate = 0.1`), "epsilon = 1.0", `epsilon = 1.0, adjacency = "replace-one"`, "federation = {}", "federation = { nominal_records = 100 }"),
		`write gradients = "joint"`:                                                                                append(solver(`solver = "dp-svi", rounds = 1, gradients = "published"`), "federation = {}", "federation = { nominal_records = 100 }"),
		`write sampling_rate = 1.0`:                                                                                append(solver(`solver = "dp-svi", rounds = 9, sampling_rate = 0.1`), "epsilon = 1.0", "epsilon = 1.0, people_across = 2", "federation = {}", `federation = { opens = "sums" }`),
		`write partition = "balanced" or "by-size"`:                                                                {"federation = {}", `simulation = { data = "a.csv", clients = 2, partition = "label-skew", size_skew = 0.5, label_skew = 0.5 }`},
		`hides single records: write privacy.unit = "record"`:                                                      append(solver(`solver = "dp-svi", rounds = 1, step_size = 0.1`), "federation = {}", `simulation = { data = "a.csv", clients = 1, baseline = "dp-sgld" }`),
	} {
		_, err := Parse("visits.toml", []byte(strings.NewReplacer(edits...).Replace(personStudy)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n%v\nwant an error with %q", edits, err, want)
		}
	}
}
