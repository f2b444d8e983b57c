package study

import (
	"fmt"

	"fedpvi/internal/document"
)

// maxPerPerson limits both the number of rows that a person has at one client and the number of
// clients at which a person has rows.
const maxPerPerson = 1000

// readPerson reads and checks the keys for the privacy unit [Person]: the column that identifies
// the person each row belongs to, and the limits on a person's rows at a client and on the clients
// at which a person has rows.
func readPerson(s *Study, table, privacy *document.Table) {
	p, column := &s.Privacy, s.Table.Person
	if p.Unit != Person {
		refusePerson(s, table, privacy)
		return
	}
	switch {
	case column == "":
		privacy.Errorf("unit", `"person" needs the column that identifies the person of a row: write person = "patient" in [table], with the name of that column in the clients' files`)
	case s.ColumnIndex(column) >= 0:
		table.Errorf("person", "column %q is declared with [[column]], and the model must not use it: remove that [[column]]", column)
	case !s.Table.Header:
		table.Errorf("person", "the column is found by its name in the first line of a file: write header = true")
	}
	visible(table, "person", column)
	p.RowsPerPerson, p.PeopleAcross = 1, 1
	readCount(privacy, "rows_per_person", &p.RowsPerPerson, maxPerPerson)
	readCount(privacy, "people_across", &p.PeopleAcross, maxPerPerson)
}

// refusePerson refuses keys that need the unit [Person].
func refusePerson(s *Study, table, privacy *document.Table) {
	refuseAll(privacy, []string{"rows_per_person", "people_across"}, `is used only with unit = %q and person = "patient" in [table], the column that identifies the person of a row`, Person)
	if !table.Has("person") {
		return
	}
	switch s.Privacy.Unit {
	case Record:
		table.Errorf("person", `names the column that identifies the person of a row, but privacy.unit = "record" protects a single row: write privacy.unit = %q, or remove person`, Person)
	case Client:
		table.Errorf("person", `has no meaning with privacy.unit = "client", which protects all rows of a client, and so all rows of a person at that client: remove it, or write privacy.unit = %q`, Person)
	case None:
		table.Errorf("person", `has no meaning with privacy.unit = "none", which protects nobody: remove it, or write privacy.unit = %q`, Person)
	}
}

// checkPerson refuses options that are defined, or proved private, only for single records. The
// solver's options must be read first.
func checkPerson(s *Study, inference *document.Table) {
	if s.Privacy.Unit != Person {
		return
	}
	d := s.Inference.Descent
	if d.Sampling == WithoutReplacement || d.Sampling == PublishedSampling {
		inference.Errorf("sampling", "%q draws a fixed number of rows, but the rows of a person stay together: write sampling = %q", d.Sampling, PoissonSampling)
	}
	if d.Gradients == PublishedGradients {
		inference.Errorf("gradients", "%q divides by the number of rows, but persons are sampled: write gradients = %q", d.Gradients, Joint)
	}
	if s.Inference.Factors == Published {
		inference.Errorf("factors", "%q is a form that was published for single records: write factors = %q", Published, Exact)
	}
	if s.Federation.Opens == OpenSums && s.Inference.Solver == DPSVI && s.Privacy.PeopleAcross > 1 && d.Rate > 0 && d.Rate < 1 {
		inference.Errorf("sampling_rate", "no bound is known for a person whom several clients sample into one sum, and privacy.people_across = %d: write sampling_rate = 1.0", s.Privacy.PeopleAcross)
	}
}

// Rows returns the largest number of records per person that a client uses. It is 1 unless the
// privacy unit is the person.
func (p *Privacy) Rows() int { return max(1, p.RowsPerPerson) }

// Holders returns the largest number of clients in one sum that may have records of the same
// person. It is 1 unless the study opens only sums and protects people with records at several
// clients. In studies that open messages, each message has enough noise by itself, and the costs
// compose ([Study.MessagesOfPerson]).
func (s *Study) Holders(clients int) int {
	if s.Federation.Opens != OpenSums {
		return 1
	}
	return max(1, min(s.Privacy.PeopleAcross, clients))
}

// MessagesOfPerson returns the largest number of clients that may have records of the same person,
// if anyone may read their messages. It is 1 unless the study opens messages and protects people
// with records at several clients.
func (s *Study) MessagesOfPerson(clients int) int {
	if s.Federation.Opens == OpenSums {
		return 1
	}
	return max(1, min(s.Privacy.PeopleAcross, clients))
}

// Protects returns a phrase for the privacy unit, such as "one row".
func (p *Privacy) Protects() string {
	switch p.Unit {
	case Client:
		return "one client's whole data set"
	case Person:
		rows, at := "one row", "a client"
		if p.RowsPerPerson > 1 {
			rows = fmt.Sprintf("up to %d rows", p.RowsPerPerson)
		}
		if p.PeopleAcross > 1 {
			at = fmt.Sprintf("each of up to %d clients", p.PeopleAcross)
		}
		return fmt.Sprintf("one person, with %s at %s", rows, at)
	}
	return "one row"
}
