package shard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fedpvi/internal/table"
	"fedpvi/pvi/study"
)

// A Problem is a reason why a value or a row does not fit a study.
type Problem string

const (
	fits      Problem = ""
	Missing   Problem = "missing"           // the value is missing
	Outside   Problem = "out of bounds"     // the number is outside the bounds of its column
	NoNumber  Problem = "not a number"      // the column is numeric, and the value is not a number
	NoDate    Problem = "not a date"        // the column has dates, and the value is not a date
	NotWhole  Problem = "not whole"         // the column is a count, and the number is not whole
	NoLevel   Problem = "not a level"       // the value is not among the levels of its column
	NoPerson  Problem = "no person"         // the row does not say which person it belongs to
	Malformed Problem = "not in the fields" // the line cannot be divided into the fields of a record
)

// problems lists all problems in the order in which they are shown.
var problems = []Problem{Malformed, NoPerson, Missing, NoNumber, NoDate, NotWhole, NoLevel, Outside}

// An Examination describes in detail how well a table fits a study. It depends on single records
// and has no noise, so it is for the data holder only.
type Examination struct {
	Report

	Rows     int       `json:"rows"`              // number of rows in the table, without the header
	Unit     string    `json:"rows_are_numbered"` // "line" if rows are numbered by lines of the file, otherwise "row"
	Findings []Finding `json:"findings"`          // values and rows that do not fit, by column
	Persons  *Persons  `json:"persons,omitempty"` // nil if no column identifies persons
	Unused   []string  `json:"unused_columns,omitempty"`
}

// A Finding describes all values in a column that have the same problem.
type Finding struct {
	Column  string       `json:"column,omitempty"` // empty for malformed lines
	Problem Problem      `json:"problem"`
	Rule    study.Policy `json:"rule"` // the study's policy for this problem
	Count   int          `json:"count"`
	Places  []Place      `json:"first"` // the first of these values, at most MostPlaces
}

// A Place is a row with a value that does not fit.
type Place struct {
	Row   int    `json:"row"`
	Value string `json:"value,omitempty"` // quoted text of the value, shortened if it is long
}

// MostPlaces is the largest number of places that a finding lists.
const MostPlaces = 5

// Persons describes how rows are distributed among people. It includes rows that do not fit the
// study.
type Persons struct {
	Column  string `json:"column"`
	Number  int    `json:"persons"`
	Several int    `json:"with_several_rows"` // number of persons with at least two rows
	Most    int    `json:"most_rows"`         // largest number of rows that belong to one person
}

// Examine reads records in the same way as [ReadTable], and also lists and quotes all values that
// do not fit the study, including those in records that are left out. person is the name of the
// column that identifies people, by default table.person of the study. Examine returns the records
// that a client would use.
func Examine(file string, rows table.Reader, st *study.Study, person string) (*Records, *Examination, error) {
	d := newDecoder(file, rows, st)
	if err := d.findColumns(); err != nil {
		return nil, nil, err
	}
	d.seen = &examiner{found: map[kind]*Finding{}, rows: map[string]int{}, person: -1, missing: st.Table.Missing}
	if person = cmp.Or(person, st.Table.Person); person != "" {
		if rows.Columns() == nil {
			return nil, nil, fmt.Errorf("%s: the file has no header, so no column can be named as that of persons", file)
		}
		at, err := d.find(rows.Columns(), person)
		if err != nil {
			return nil, nil, err
		}
		d.seen.person = at
	}
	if err := d.read(func() {}); err != nil {
		return nil, nil, err
	}
	records := d.records.Keep(st)
	x := &Examination{Report: d.report, Rows: d.seen.number, Unit: rows.Unit(), Findings: d.seen.findings(st), Unused: d.unused(person)}
	x.Records, x.Surplus = records.Len(), d.records.Len()-records.Len()
	if person != "" {
		x.Persons = d.seen.persons(person)
	}
	return records, x, nil
}

// unused returns the names of those columns of the table that are not used.
func (d *decoder) unused(person string) []string {
	var names []string
	for i, name := range d.rows.Columns() {
		if name = d.trim(name); !slices.Contains(d.cellOf, i) && name != person {
			names = append(names, name)
		}
	}
	return names
}

// An examiner collects the findings of [Examine].
type examiner struct {
	found  map[kind]*Finding
	number int            // number of rows
	person int            // index of the cell that identifies the person, or −1
	rows   map[string]int // number of rows of each person

	missing []string // spellings of a missing value
}

type kind struct {
	column  string
	problem Problem
}

// row counts a row. Unless the row is malformed, it also counts it for its person.
func (e *examiner) row(cells []table.Cell) {
	e.number++
	if e.person < 0 || cells == nil {
		return
	}
	if name := strings.TrimSpace(textOf(cells[e.person])); name != "" && !slices.Contains(e.missing, name) {
		e.rows[strings.Clone(name)]++
	}
}

func (e *examiner) persons(column string) *Persons {
	p := &Persons{Column: column, Number: len(e.rows)}
	for _, n := range e.rows {
		if n > 1 {
			p.Several++
		}
		p.Most = max(p.Most, n)
	}
	return p
}

// findings returns all findings, in the order of the study's columns.
func (e *examiner) findings(st *study.Study) []Finding {
	all := []Finding{}
	for _, f := range e.found {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(st.ColumnIndex(a.Column), st.ColumnIndex(b.Column)), cmp.Compare(slices.Index(problems, a.Problem), slices.Index(problems, b.Problem)))
	})
	return all
}

// note adds a value, or a malformed line, to the findings.
func (d *decoder) note(row int, column string, problem Problem, rule study.Policy, cell table.Cell) {
	if d.seen == nil {
		return
	}
	of := kind{column, problem}
	f := d.seen.found[of]
	if f == nil {
		f = &Finding{Column: column, Problem: problem, Rule: rule}
		d.seen.found[of] = f
	}
	f.Count++
	if len(f.Places) < MostPlaces {
		p := Place{Row: row}
		if problem != Missing && problem != NoPerson && problem != Malformed {
			p.Value = shown(textOf(cell))
		}
		f.Places = append(f.Places, p)
	}
}

// shown quotes a value. It removes control characters, and shortens long values.
func shown(value string) string {
	const most = 24
	if r := []rune(value); len(r) > most {
		value = string(r[:most]) + "…"
	}
	return strconv.Quote(value)
}

// noteFrom adds those values of a record that do not fit to the findings, from the given column on.
// The counts in the report stay as they are.
func (d *decoder) noteFrom(column int, cells []table.Cell) {
	if d.seen == nil {
		return
	}
	report, missing := d.report, d.missing
	d.report = NewReport()
	for i := column; i < len(d.study.Columns); i++ {
		_, _, _ = d.value(i, cells[d.cellOf[i]]) // value notes each problem
	}
	d.report, d.missing = report, missing
}
