package words

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"fedpvi/internal/prose"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// Examined tells a data holder how well records fit a study.
type Examined struct {
	Study  *study.Study
	File   string             // name of the table; empty if there is no table
	Of     *shard.Examination // nil if there is no table
	Checks []fit.Check        // comparison with the posterior; nil if there is none
}

// Used says how many records the study uses.
func (e *Examined) Used() string {
	x := e.Of
	text := fmt.Sprintf("%s: the study uses %s", Plural(x.Rows, "row"), Plural(x.Records, "record"))
	switch out := x.LeftOut(); {
	case out == 1:
		text += ", and 1 does not fit and is left out"
	case out > 1:
		text += fmt.Sprintf(", and %d do not fit and are left out", out)
	}
	if x.Surplus > 0 {
		text += fmt.Sprintf(", and %d are left out by lot because their persons have more than %s", x.Surplus, Plural(e.Study.Privacy.Rows(), "row"))
	}
	return text + "."
}

// Warnings returns warnings to the data holder if the number of records is unsuitable for the
// study.
func (e *Examined) Warnings() []string {
	var all []string
	if e.Of.Records == 0 {
		all = append(all, "No record is used: this client would send only noise. Choose another file, or correct this one.")
	}
	if most := e.Study.Federation.MaxRecords; e.Study.Privacy.Unit.OfRecords() && e.Of.Records > most {
		all = append(all, fmt.Sprintf("The study allows sums over federation.max_records = %d records, and clips larger sums. Ask the study's authors for a larger federation.max_records.", most))
	}
	return all
}

// Persons says whether some people have several rows.
func (e *Examined) Persons() string {
	p := e.Of.Persons
	if p == nil {
		return fmt.Sprintf("The study does not know which rows belong to the same person. It protects %s. To count persons with several rows, name the column that identifies the person of a row: --person COLUMN.", e.Study.Privacy.Protects())
	}
	text := fmt.Sprintf("The column %s names %s. ", p.Column, Plural(p.Number, "person"))
	switch {
	case p.Several == 0:
		return text + "No person has several rows."
	case p.Several == 1:
		text += "One of them has several rows"
	default:
		text += fmt.Sprintf("%d of them have several rows", p.Several)
	}
	text += fmt.Sprintf(", and the largest number of rows of a person is %d. ", p.Most)
	switch {
	case e.Study.Privacy.Unit == study.Person:
		return text + fmt.Sprintf("The study uses at most %s of a person and protects all of them together.", Plural(e.Study.Privacy.Rows(), "row"))
	case e.Study.Privacy.Unit == study.Record:
		return text + "The study protects one row, and its ε does not hold for a person with several. Ask the study's authors for privacy.unit = \"person\", or give each person one row."
	}
	return text + fmt.Sprintf("The study protects %s.", e.Study.Privacy.Protects())
}

// A ColumnRule tells a data holder which values a column may have, and how the study treats records
// with other values.
type ColumnRule struct {
	Name    string `json:"name"`
	Values  string `json:"values"`
	Missing string `json:"missing"`
	Others  string `json:"others"`
}

// valuesWidth is the width at which a list of values is broken into lines.
const valuesWidth = 40

// Columns describes the columns that the file must have.
func (e *Examined) Columns() []ColumnRule {
	var all []ColumnRule
	for i := range e.Study.Columns {
		c := &e.Study.Columns[i]
		r := ColumnRule{Name: c.Name, Values: within(c)}
		if e.Study.Counts(i) {
			r.Values = strings.Replace(r.Values, "a number", "a whole number", 1)
		}
		r.Missing, r.Others = "the record is left out", "the record is left out"
		if c.Missing == study.Impute {
			r.Missing = "counts as " + c.Imputed
		}
		if c.Outside == study.Clamp {
			r.Others = "counts as the nearest bound"
		}
		all = append(all, r)
	}
	if p := e.Study.Table.Person; p != "" {
		all = append(all, ColumnRule{p, "any text: the person of the row", "the record is left out", "–"})
	}
	return all
}

// Format describes the text files that the study expects.
func (e *Examined) Format() string {
	t := &e.Study.Table
	text := fmt.Sprintf("A text file has one record in a line and the separator %q", t.Separator)
	if t.Header {
		text += "; its first line names the columns, in any order, and other columns are ignored"
	} else {
		text += "; it has no header, and the columns are in the order of this table"
	}
	var missing []string
	for _, m := range t.Missing {
		if m == "" {
			m = "an empty field"
		}
		missing = append(missing, m)
	}
	if missing != nil {
		text += ". These stand for a missing value: " + strings.Join(missing, ", ")
	}
	return text + ". Files in other formats, and queries to a database, have columns with the same names."
}

// Finding tells the data holder how many values in a column have a problem, and how the study
// treats them.
func (e *Examined) Finding(f shard.Finding) string {
	verb := func(one, more string) string {
		if f.Count != 1 {
			return more
		}
		return one
	}
	var problem string
	switch f.Problem {
	case shard.Malformed:
		return fmt.Sprintf("%s cannot be split into the fields of a record, and %s left out.", Plural(f.Count, "line"), verb("is", "are"))
	case shard.NoPerson:
		return fmt.Sprintf("%s: %s %s no person, and %s left out.", f.Column, Plural(f.Count, e.Of.Unit), verb("names", "name"), verb("is", "are"))
	case shard.Missing:
		problem = verb("is missing", "are missing")
	case shard.NoNumber:
		problem = verb("is not a number", "are not numbers")
	case shard.NoDate:
		problem = verb("is not a date", "are not dates")
	case shard.NotWhole:
		problem = verb("is not a whole number", "are not whole numbers")
	case shard.NoLevel:
		problem = verb("is", "are") + " not among the levels"
	default:
		problem = verb("is", "are") + " outside the bounds " + bounds(e.column(f))
	}
	text := fmt.Sprintf("%s: %s %s", f.Column, Plural(f.Count, "value"), problem)
	switch f.Rule {
	case study.Clamp:
		return text + verb(". It counts as the nearest bound.", ". They count as the nearest bound.")
	case study.Impute:
		return text + verb(". It counts as ", ". They count as ") + e.column(f).Imputed + "."
	}
	return text + verb(". The record is left out.", ". The records are left out.")
}

// Places lists the first rows of a finding with their values, and says how many more rows there
// are.
func (e *Examined) Places(f shard.Finding) string {
	text := e.rows(f)
	var values []string
	for _, p := range f.Places {
		if p.Value != "" && !slices.Contains(values, p.Value) {
			values = append(values, p.Value)
		}
	}
	switch len(values) {
	case 0:
		return text
	case 1:
		return text + ". Value: " + values[0]
	}
	return text + ". Values: " + strings.Join(values, ", ")
}

// rows lists the rows of a finding, as in "rows 17 and 204".
func (e *Examined) rows(f shard.Finding) string {
	var numbers []string
	for _, p := range f.Places {
		numbers = append(numbers, fmt.Sprint(p.Row))
	}
	if more := f.Count - len(f.Places); more > 0 {
		return fmt.Sprintf("%ss %s and %d more", e.Of.Unit, strings.Join(numbers, ", "), more)
	}
	last := len(numbers) - 1
	if last == 0 {
		return e.Of.Unit + " " + numbers[0]
	}
	return fmt.Sprintf("%ss %s and %s", e.Of.Unit, strings.Join(numbers[:last], ", "), numbers[last])
}

// Remedy tells the data holder how to correct a finding.
func (e *Examined) Remedy(f shard.Finding) string {
	if foreign(f) {
		return "Some of these values are not text in UTF-8. Convert the file, for example from the encoding of Windows: iconv -f WINDOWS-1252 -t UTF-8."
	}
	rows, name := e.rows(f), f.Column
	const ask, also = "Ask the study's authors to ", "ask the study's authors to "
	switch f.Problem {
	case shard.Malformed:
		return fmt.Sprintf("Correct %s: look for a missing or an additional %q, and for quotes that do not end on their line.", rows, e.Study.Table.Separator)
	case shard.NoPerson:
		return fmt.Sprintf("Fill in %s in %s, if these records should count.", name, rows)
	case shard.Missing:
		switch f.Rule {
		case study.Impute:
			return "Nothing needs to be done. Fill in the values if they are known."
		case study.Drop:
			return fmt.Sprintf("Nothing needs to be done: the study leaves such records out on purpose. To use them, fill in %s in %s.", name, rows)
		}
		return fmt.Sprintf("%sset a rule for a missing %s, or fill in the value in %s.", ask, name, rows)
	case shard.NoNumber:
		hint := "a number such as 3.5"
		if e.Of.Unit == "line" {
			hint += " (if the whole file has decimal commas: --decimal-comma)"
		}
		return fmt.Sprintf("Write %s in %s. If the text stands for a missing value, %sadd it to table.missing.", hint, rows, also)
	case shard.NoDate:
		return fmt.Sprintf("Write a date such as 2020-12-31 in %s. If the text stands for a missing value, %sadd it to table.missing.", rows, also)
	case shard.NotWhole:
		return fmt.Sprintf("Correct %s: the %s model counts whole events.", rows, e.Study.Model.Family)
	case shard.NoLevel:
		if f.Rule == study.Drop {
			return fmt.Sprintf("Nothing needs to be done: the study leaves such records out on purpose. If the texts are misspelled, correct %s.", rows)
		}
		return fmt.Sprintf("%sadd the levels of %s, or correct %s: spelling, capitals and spaces must be those of the study.", ask, name, rows)
	}
	switch f.Rule {
	case study.Clamp:
		return fmt.Sprintf("Nothing needs to be done. If the values are wrong, correct %s.", rows)
	case study.Drop:
		return fmt.Sprintf("Nothing needs to be done: the study leaves such records out on purpose. If the values are wrong, correct %s.", rows)
	}
	return fmt.Sprintf("%swiden the bounds of %s, or correct %s.", ask, name, rows)
}

// foreign reports whether one of the listed values is not encoded in UTF-8.
func foreign(f shard.Finding) bool {
	return slices.ContainsFunc(f.Places, func(p shard.Place) bool {
		value, err := strconv.Unquote(p.Value)
		return err == nil && strings.ContainsRune(value, utf8.RuneError)
	})
}

func bounds(c *study.Column) string {
	if c.Dated {
		return fmt.Sprintf("[%s, %s]", c.Text(c.Low), c.Text(c.High))
	}
	return strings.TrimRight(fmt.Sprintf("[%s, %s] %s", Number(c.Low), Number(c.High), c.Unit), " ")
}

func (e *Examined) column(f shard.Finding) *study.Column {
	return &e.Study.Columns[e.Study.ColumnIndex(f.Column)]
}

// Unused returns a sentence about columns of the table that the study does not use. It returns ""
// if there are none.
func (e *Examined) Unused() string {
	if len(e.Of.Unused) == 0 {
		return ""
	}
	return fmt.Sprintf("The table has columns that the study does not read: %s.", strings.Join(e.Of.Unused, ", "))
}

// Warned is a sentence that is shown with each examination.
const Warned = "This output depends on single records, without any noise. None of it was sent. Protect it as you protect the records."

// Write writes the description as text.
func (e *Examined) Write(w io.Writer) error {
	var b strings.Builder
	title := fmt.Sprintf("The study %s, SHA-256 %s", e.Study.Name, e.Study.Digest)
	if e.Of != nil {
		title = e.File + " and t" + title[1:]
	}
	fmt.Fprintf(&b, "%s\n\n", title)
	if e.Of != nil {
		b.WriteString(Wrap(e.Used()) + "\n")
		for _, text := range e.Warnings() {
			b.WriteString(Wrap(text) + "\n")
		}
		for _, f := range e.Of.Findings {
			b.WriteString(Wrap(e.Finding(f)+" In "+e.Places(f)+".") + Wrap(e.Remedy(f)) + "\n")
		}
		for _, text := range []string{e.Persons(), e.Unused()} {
			if text != "" {
				b.WriteString(Wrap(text) + "\n")
			}
		}
	}
	rows := [][]string{{"column", "values", "a missing value", "another value"}}
	for _, c := range e.Columns() {
		values := strings.Split(strings.TrimSuffix(prose.Wrap(c.Values, valuesWidth), "\n"), "\n")
		rows = append(rows, []string{c.Name, values[0], c.Missing, c.Others})
		for _, more := range values[1:] {
			rows = append(rows, []string{"", more, "", ""})
		}
	}
	if err := Table(&b, "", len(rows[0]), rows); err != nil {
		return err
	}
	b.WriteString("\n" + Wrap(e.Format()))
	if e.Checks != nil {
		fmt.Fprintf(&b, "\nOutcomes of these records, and outcomes drawn for them from the posterior:\n\n")
		if err := Checks(&b, e.Checks); err != nil {
			return err
		}
	}
	if e.Of != nil {
		b.WriteString("\n" + Wrap(Warned))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
