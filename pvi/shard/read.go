package shard

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedpvi/pvi/study"
)

// A Report has the numbers of values and records that were changed when a file was read. Only
// the client may see it.
type Report struct {
	Records int            // number of records read and kept
	Dropped map[string]int // number of records left out because of a value in the column
	Clamped map[string]int // number of values moved to a bound, by column
	Imputed map[string]int // number of missing values replaced, by column
	Surplus int            // number of records left out because their person has more records than the study uses
	Beyond  map[string]int // number of values outside the scale that a standardisation found, by column
}

// NewReport returns an empty report.
func NewReport() Report {
	return Report{Dropped: map[string]int{}, Clamped: map[string]int{}, Imputed: map[string]int{}}
}

// Add adds the counts of another report.
func (r *Report) Add(other Report) {
	r.Records += other.Records
	r.Surplus += other.Surplus
	for _, of := range []struct{ to, from map[string]int }{{r.Dropped, other.Dropped}, {r.Clamped, other.Clamped}, {r.Imputed, other.Imputed}} {
		for column, n := range of.from {
			of.to[column] += n
		}
	}
}

// An Error is an error at a position in a file of records.
type Error struct {
	File    string
	Line    int // line number, from 1
	Column  string
	Message string
}

func (e *Error) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d: column %s: %s", e.File, e.Line, e.Column, e.Message)
}

// Read reads records from a file in the format of the study. It returns an error if there are
// more than maxRecords. The name file is used in messages only. If the study protects persons,
// the caller must call [Records.Keep] after all files were read.
func Read(file string, r io.Reader, st *study.Study, maxRecords int) (*Records, Report, error) {
	d := &decoder{
		study:   st,
		file:    file,
		csv:     csv.NewReader(r),
		records: &Records{columns: len(st.Columns)},
		report:  NewReport(),
		row:     make([]float64, len(st.Columns)),
	}
	if st.Model.Kind() == study.Count {
		d.counted, _ = st.Column(st.Model.Outcome)
	}
	d.csv.Comma = st.Table.Separator
	d.csv.ReuseRecord = true
	d.csv.TrimLeadingSpace = st.Table.Trim
	if err := d.readHeader(); err != nil {
		return nil, Report{}, err
	}
	for {
		fields, err := d.csv.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, Report{}, d.syntax(err)
		}
		if err := d.decode(fields); err != nil {
			return nil, Report{}, err
		}
		if d.records.Len() > maxRecords {
			return nil, Report{}, d.errorf("", "more than %d records: raise federation.max_records in the study if that is right", maxRecords)
		}
	}
	d.report.Records = d.records.Len()
	return d.records, d.report, nil
}

type decoder struct {
	study   *study.Study
	file    string
	csv     *csv.Reader
	fieldOf []int // index in a line of each declared column's field
	person  int   // index of the field with the name of the person; −1 if the study has no column of persons
	records *Records
	report  Report
	row     []float64
	counted *study.Column // column that must have whole numbers; nil if there is none
}

func (d *decoder) line() int {
	line, _ := d.csv.FieldPos(0)
	return line
}

func (d *decoder) errorf(column, format string, args ...any) error {
	return &Error{File: d.file, Line: d.line(), Column: column, Message: fmt.Sprintf(format, args...)}
}

func (d *decoder) syntax(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return fmt.Errorf("%s: reading: %w", d.file, err)
	}
	message := parse.Err.Error()
	if errors.Is(parse.Err, csv.ErrFieldCount) {
		message = fmt.Sprintf("the line has another number of fields than the %d expected: check the separator (the study says %q) and quotes", d.csv.FieldsPerRecord, d.study.Table.Separator)
	}
	return &Error{File: d.file, Line: parse.Line, Message: message}
}

func (d *decoder) readHeader() error {
	d.fieldOf, d.person = make([]int, len(d.study.Columns)), -1
	if !d.study.Table.Header {
		for i := range d.fieldOf {
			d.fieldOf[i] = i
		}
		d.csv.FieldsPerRecord = len(d.study.Columns)
		return nil
	}
	header, err := d.csv.Read()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: the file is empty: its first line must name the columns (or write table.header = false in the study)", d.file)
	}
	if err != nil {
		return d.syntax(err)
	}
	for i, c := range d.study.Columns {
		if d.fieldOf[i], err = d.find(header, c.Name); err != nil {
			return err
		}
	}
	if name := d.study.Table.Person; name != "" {
		d.person, err = d.find(header, name)
	}
	return err // from now on encoding/csv requires as many fields as the header has
}

// find returns the index of the field with the given name in the header.
func (d *decoder) find(header []string, name string) (int, error) {
	at := -1
	for j, field := range header {
		if d.trim(strings.TrimPrefix(field, "\ufeff")) != name {
			continue
		}
		if at >= 0 {
			return 0, d.errorf(name, "the header names this column twice")
		}
		at = j
	}
	if at < 0 {
		return 0, d.errorf(name, "the header does not name this column, which the study declares (if the file has no header, write table.header = false)")
	}
	return at, nil
}

func (d *decoder) trim(field string) string {
	if d.study.Table.Trim {
		return strings.TrimSpace(field)
	}
	return field
}

// decode adds a record, unless a policy of the study drops it. It drops a record whose person is
// missing, because several such records may be of one person, or of several. White space around
// the name of a person does not count, whatever table.trim says: with it one person would have
// two names, and twice as many rows as the study pays for.
func (d *decoder) decode(fields []string) error {
	var person string
	if d.person >= 0 {
		person = strings.TrimSpace(fields[d.person])
		if person == "" || slices.Contains(d.study.Table.Missing, person) || slices.Contains(d.study.Table.Missing, fields[d.person]) {
			d.report.Dropped[d.study.Table.Person]++
			return nil
		}
	}
	for i := range d.study.Columns {
		c := &d.study.Columns[i]
		value, policy, err := d.value(c, d.trim(fields[d.fieldOf[i]]))
		if err != nil {
			return err
		}
		if policy == study.Drop {
			d.report.Dropped[c.Name]++
			return nil
		}
		d.row[i] = value
	}
	if d.person < 0 {
		d.records.Append(d.row)
	} else {
		d.records.AppendFor(strings.Clone(person), d.row)
	}
	return nil
}

// value decodes one field. If the record must be left out, it returns the policy Drop.
func (d *decoder) value(c *study.Column, field string) (float64, study.Policy, error) {
	if slices.Contains(d.study.Table.Missing, field) && !slices.Contains(c.Levels, field) {
		switch c.Missing {
		case study.Drop:
			return 0, study.Drop, nil
		case study.Impute:
			d.report.Imputed[c.Name]++
			field = c.Imputed
		default:
			return 0, study.Refuse, d.errorf(c.Name, `the value is missing: the study's column may say missing = "drop" or missing = "impute"`)
		}
	}
	if c.Type != study.Numeric {
		level := slices.Index(c.Levels, field)
		if level >= 0 {
			return float64(level), "", nil
		}
		if c.Outside == study.Drop {
			return 0, study.Drop, nil
		}
		return 0, study.Refuse, d.errorf(c.Name, `the value is not among the %d declared levels: declare it, or write outside = "drop" (blanks count unless table.trim = true)`, len(c.Levels))
	}
	return d.number(c, field)
}

func (d *decoder) number(c *study.Column, field string) (float64, study.Policy, error) {
	x, err := strconv.ParseFloat(field, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(x) {
		return 0, study.Refuse, d.errorf(c.Name, "the value is not a number: if it stands for a missing value, list it in table.missing (blanks count unless table.trim = true)")
	}
	if c == d.counted && x != math.Trunc(x) {
		return 0, study.Refuse, d.errorf(c.Name, "the value is not a whole number, and the %s model counts", d.study.Model.Family)
	}
	if c.Low <= x && x <= c.High {
		return x, "", nil
	}
	switch c.Outside {
	case study.Drop:
		return 0, study.Drop, nil
	case study.Clamp:
		d.report.Clamped[c.Name]++
		return min(max(x, c.Low), c.High), "", nil
	}
	return 0, study.Refuse, d.errorf(c.Name, `the value is outside the declared bounds [%g, %g]: widen them, or write outside = "clamp" or outside = "drop"`, c.Low, c.High)
}
