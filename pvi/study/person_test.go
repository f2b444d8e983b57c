package study_test

import (
	"testing"

	"fedpvi/pvi/study"
)

// visits turns the study private into one that protects people.
var visits = set("study.version=2", `table.person="patient"`, "inference={}", `privacy.unit="person"`)

// By default, a client uses one row per person, and people have rows at one client only.
func TestPersonDefaults(t *testing.T) {
	st := parse(t, private, visits...)
	p := st.Privacy
	if p.Unit != study.Person || p.RowsPerPerson != 1 || p.PeopleAcross != 1 || st.Table.Person != "patient" || p.Adjacency != "add-remove" || st.Inference.Solver != study.Scoring {
		t.Errorf("%+v of %q by %s", p, st.Table.Person, st.Inference.Solver)
	}
	if p.Rows() != 1 || st.Holders(3) != 1 || st.MessagesOfPerson(3) != 1 {
		t.Errorf("%d rows, %d holders of a sum, %d messages", p.Rows(), st.Holders(3), st.MessagesOfPerson(3))
	}
	if st = parse(t, private, with(visits, "privacy.people_across=5", `federation.opens="sums"`)...); st.Holders(3) != 3 || st.MessagesOfPerson(3) != 1 {
		t.Errorf("%d holders of a sum, want the 3 clients", st.Holders(3))
	}
}

func TestPersonRefused(t *testing.T) {
	for want, settings := range map[string][]string{
		`unit: "person" needs the column that identifies the person of a row: write person = "patient" in [table]`: {"table.person="},
		`protects a single row: write privacy.unit = "person", or remove person`:                                   {`privacy.unit="record"`},
		`which protects all rows of a client`:                                                                      {`privacy.unit="client"`, "federation.nominal_records=9"},
		`which protects nobody`:                                                                                    {`privacy={ unit = "none" }`},
		`column "x" is declared with [[column]]`:                                                                   {`table.person="x"`},
		`write header = true`:                                                                                      {"table.header=false"},
		`rows_per_person: is used only with unit = "person"`:                                                       {"table.person=", `privacy.unit="record"`, "privacy.rows_per_person=2"},
		`people_across: is used only with unit = "person"`:                                                         {"table.person=", `privacy.unit="record"`, "privacy.people_across=2"},
		`rows_per_person: must lie between 1 and 1000, got 0`:                                                      {"privacy.rows_per_person=0"},
		`write sampling = "poisson"`:                                                                               {`inference={ solver = "dp-svi", rounds = 1, sampling = "without-replacement", sampling_rate = 0.1 }`, `privacy.adjacency="replace-one"`, "federation.nominal_records=100"},
		`write gradients = "joint"`:                                                                                {`inference={ solver = "dp-svi", rounds = 1, gradients = "published" }`, "federation.nominal_records=100"},
		`write sampling_rate = 1.0`:                                                                                {`inference={ solver = "dp-svi", rounds = 9, sampling_rate = 0.1 }`, "privacy.people_across=2", `federation.opens="sums"`},
		`write partition = "balanced" or "by-size"`:                                                                {`simulation={ data = "a.csv", clients = 2, partition = "label-skew", size_skew = 0.5, label_skew = 0.5 }`},
		`hides single records: write privacy.unit = "record"`:                                                      {`inference={ solver = "dp-svi", rounds = 1, step_size = 0.1 }`, `simulation={ data = "a.csv", clients = 1, baseline = "dp-sgld" }`},
	} {
		expect(t, private, want, with(visits, settings...)...)
	}
}
