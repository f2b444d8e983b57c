package shard

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"fedpvi/internal/document"
	"fedpvi/internal/table"
	"fedpvi/pvi/study"
)

// A Report counts values and records that were changed or left out when a file was read. Only the
// client may see it.
type Report struct {
	Records int            `json:"records"`            // number of records read and kept
	Dropped map[string]int `json:"left_out,omitempty"` // records left out because of a value, by column
	// lines that cannot be divided into the fields of a record
	Malformed int            `json:"malformed,omitempty"`
	Clamped   map[string]int `json:"at_bounds,omitempty"` // values moved to a bound, by column
	Imputed   map[string]int `json:"imputed,omitempty"`   // missing values replaced, by column
	Surplus   int            `json:"surplus,omitempty"`   // records left out because the person they belong to has too many
	Beyond    map[string]int `json:"off_scale,omitempty"` // values outside the scale from a standardisation, by column
	// records and lines that were left out although the study says "refuse", or does not say how to
	// treat them
	Refused int    `json:"unexpected,omitempty"`
	First   *Error `json:"-"` // why the first of these was left out
}

// LeftOut returns the number of records and lines that do not fit the study.
func (r *Report) LeftOut() int {
	n := r.Malformed
	for _, dropped := range r.Dropped {
		n += dropped
	}
	return n
}

// NewReport returns an empty report.
func NewReport() Report {
	return Report{Dropped: map[string]int{}, Clamped: map[string]int{}, Imputed: map[string]int{}}
}

// Add adds the counts of another report.
func (r *Report) Add(other Report) {
	r.Records += other.Records
	r.Surplus += other.Surplus
	r.Malformed += other.Malformed
	r.Refused += other.Refused
	if r.First == nil {
		r.First = other.First
	}
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

// MaxRows is the largest number of rows in a table, including those that are left out. A small file
// that is damaged or compressed may claim to have any number of rows, and reading it would never
// end.
const MaxRows = 1 << 27

// Read reads records from a text file in the format of the study. See [ReadTable].
func Read(file string, r io.Reader, st *study.Study) (*Records, Report, error) {
	rows, err := table.NewCSV(r, Format(st))
	if err != nil {
		return nil, Report{}, located(file, err)
	}
	return ReadTable(file, rows, st)
}

// Format returns the format of a study's text files.
func Format(st *study.Study) table.Format {
	t := st.Table
	return table.Format{Header: t.Header, Separator: t.Separator, Trim: t.Trim, Columns: len(st.Columns)}
}

// Wanted returns the columns that ReadTable reads.
func Wanted(st *study.Study) []table.Wanted {
	var columns []table.Wanted
	for _, c := range st.Columns {
		columns = append(columns, table.Wanted{Name: c.Name, Date: c.Dated})
	}
	if st.Table.Person != "" {
		columns = append(columns, table.Wanted{Name: st.Table.Person})
	}
	return columns
}

// ReadTable reads the rows of a table that fit the study as records. file is a name for messages.
// If the study protects persons, the caller must call [Records.Keep] on the records of all tables
// together.
//
// ReadTable leaves out a record that does not fit, even if the study says "refuse". An error would
// keep the client from starting. Anyone who notices this would learn something about the record,
// and more with a series of such studies. For the same reason a study cannot limit the number of
// records. ReadTable returns an error only if reading fails, if the columns do not fit the study,
// or after [MaxRows] rows.
func ReadTable(file string, rows table.Reader, st *study.Study) (*Records, Report, error) {
	d := newDecoder(file, rows, st)
	if err := d.findColumns(); err != nil {
		return nil, Report{}, err
	}
	if err := d.read(func() {}); err != nil {
		return nil, Report{}, err
	}
	return d.records, d.report, nil
}

// A New is a table of records for predictions. Columns may be missing.
type New struct {
	*Records
	Rows   []int  // row of each record in the table, see [table.Reader]
	Absent []bool // whether each column is missing in the table; records then have a value within its bounds
}

// ReadNew reads records for predictions. It leaves out the same records as [ReadTable], but keeps
// all records of a person.
func ReadNew(file string, rows table.Reader, st *study.Study) (*New, Report, error) {
	d := newDecoder(file, rows, st)
	n := &New{Records: d.records, Absent: make([]bool, len(st.Columns))}
	header := rows.Columns()
	for i, c := range st.Columns {
		n.Absent[i] = header != nil && !slices.ContainsFunc(header, func(name string) bool { return d.trim(name) == c.Name })
	}
	d.absent = n.Absent
	if err := d.findColumns(); err != nil {
		return nil, Report{}, err
	}
	if err := d.read(func() { n.Rows = append(n.Rows, rows.Row()) }); err != nil {
		return nil, Report{}, err
	}
	return n, d.report, nil
}

func newDecoder(file string, rows table.Reader, st *study.Study) *decoder {
	d := &decoder{
		study:   st,
		file:    file,
		rows:    rows,
		most:    MaxRows,
		records: &Records{columns: len(st.Columns)},
		report:  NewReport(),
		row:     make([]float64, len(st.Columns)),
	}
	if st.Describe != nil {
		d.missing = make([]int, 0, len(st.Columns))
	}
	d.counted = make([]bool, len(st.Columns))
	for i := range d.counted {
		d.counted[i] = st.Counts(i)
	}
	return d
}

// read reads all rows. It calls kept after each row that becomes a record.
func (d *decoder) read(kept func()) error {
	for read := 0; ; read++ {
		before := d.records.Len()
		cells, err := d.rows.Next()
		if errors.Is(err, io.EOF) {
			d.report.Records = d.records.Len()
			return nil
		}
		if read == d.most {
			return fmt.Errorf("%s: more than %d rows, which is the most that this program can read", d.file, d.most)
		}
		if d.seen != nil {
			d.seen.row(cells)
		}
		if err == nil {
			err = d.decode(cells)
		} else {
			err = located(d.file, err)
		}
		var unfit *Error
		switch {
		case errors.As(err, &unfit):
			d.leaveOut(unfit)
		case err != nil:
			return err
		}
		if d.records.Len() > before {
			kept()
		}
	}
}

// located adds the name of the file to a reader's error. For a malformed row, it returns an
// [Error].
func located(file string, err error) error {
	var malformed *table.Malformed
	if errors.As(err, &malformed) {
		return &Error{File: file, Line: malformed.Row, Message: malformed.Message}
	}
	return fmt.Errorf("%s: %w", file, err)
}

// leaveOut counts a record or a line that is left out because it does not fit.
func (d *decoder) leaveOut(unfit *Error) {
	if d.report.Refused++; d.report.First == nil {
		d.report.First = unfit
	}
	if unfit.Column == "" {
		d.report.Malformed++
		d.note(unfit.Line, "", Malformed, study.Refuse, table.Cell{})
		d.records.leaveOut(d.study)
	} else {
		d.drop(unfit.Column)
	}
}

// drop counts a record that is left out because of a value in a column.
func (d *decoder) drop(column string) {
	d.report.Dropped[column]++
	d.records.leaveOut(d.study)
}

type decoder struct {
	study   *study.Study
	file    string
	rows    table.Reader
	most    int   // largest number of rows
	cellOf  []int // index of each declared column's cell in a row
	person  int   // index of the cell that identifies the person, or −1
	records *Records
	report  Report
	row     []float64
	counted []bool    // columns that must have whole numbers
	absent  []bool    // columns that are missing in the table; nil if it must have all
	seen    *examiner // nil unless [Examine] reads the table
	missing []int     // columns in which the current record has no value; nil unless the study describes records
}

func (d *decoder) errorf(column, format string, args ...any) error {
	return &Error{File: d.file, Line: d.rows.Row(), Column: column, Message: fmt.Sprintf(format, args...)}
}

// findColumns finds the cell of each column. If the table has no column names, cells are in the
// order of the study.
func (d *decoder) findColumns() (err error) {
	d.cellOf, d.person = make([]int, len(d.study.Columns)), -1
	names := d.rows.Columns()
	if names == nil {
		for i := range d.cellOf {
			d.cellOf[i] = i
		}
		return nil
	}
	for i, c := range d.study.Columns {
		if d.absent != nil && d.absent[i] {
			d.row[i] = c.Low // the lower bound stands in for a missing column; for levels it is 0, the first level
			continue
		}
		if d.cellOf[i], err = d.find(names, c.Name); err != nil {
			return err
		}
	}
	if name := d.study.Table.Person; name != "" && d.absent == nil {
		d.person, err = d.find(names, name)
	}
	return err
}

func (d *decoder) find(header []string, name string) (int, error) {
	at := -1
	for j, field := range header {
		if d.trim(field) != name {
			continue
		}
		if at >= 0 {
			return 0, d.errorf(name, "the header names this column twice: remove or rename one of the two")
		}
		at = j
	}
	if at < 0 {
		return 0, d.errorf(name, "the header does not name this column%s", nearest(header, name))
	}
	return at, nil
}

// distinct is the shortest length of a column name for which a similar field in the first line is
// taken for a misspelt name and not for a value.
const distinct = 5

// nearest suggests a remedy if a column is missing in the header. It quotes a field only if the
// field is almost the name of the column. Without a header, the first line would be a record, whose
// values must not appear in a message.
func nearest(header []string, name string) string {
	if len(header) == 1 {
		for _, separator := range []string{";", "\t", "|", ","} {
			if strings.Contains(header[0], separator) {
				return fmt.Sprintf(". The first line is one field, and it has the character %q: if this is the separator, name it with --separator or in the study's table.separator", separator)
			}
		}
	}
	for _, field := range header {
		switch {
		case strings.TrimSpace(field) == name:
			return fmt.Sprintf(", but %q: remove the blanks, or write table.trim = true in the study", field)
		case strings.EqualFold(strings.TrimSpace(field), name):
			return fmt.Sprintf(", but %q: write the name as the study does", field)
		}
	}
	if meant := document.DidYouMean(name, header); meant != "" && len(name) >= distinct {
		return meant + ": write the name as the study does"
	}
	return ": add the column, or check that this is the right file"
}

func (d *decoder) trim(field string) string {
	if d.study.Table.Trim {
		return strings.TrimSpace(field)
	}
	return field
}

// decode converts the cells of one row to a record and adds it, unless the study drops it. It
// returns an [Error] for a record that does not fit. A record without a person is dropped, because
// several of them may belong to one. White space around the person is always ignored. Otherwise one
// person could have two names, and twice as many rows as the privacy cost covers.
func (d *decoder) decode(cells []table.Cell) error {
	var person string
	if d.person >= 0 {
		cell := textOf(cells[d.person])
		person = strings.TrimSpace(cell)
		if person == "" || slices.Contains(d.study.Table.Missing, person) || slices.Contains(d.study.Table.Missing, cell) {
			d.note(d.rows.Row(), d.study.Table.Person, NoPerson, study.Drop, table.Cell{Kind: table.Missing})
			d.noteFrom(0, cells)
			d.drop(d.study.Table.Person)
			return nil
		}
	}
	d.missing = d.missing[:0]
	for i := range d.study.Columns {
		c := &d.study.Columns[i]
		if d.absent != nil && d.absent[i] {
			continue
		}
		value, policy, err := d.value(i, cells[d.cellOf[i]])
		if err != nil || policy == study.Drop {
			d.noteFrom(i+1, cells)
		}
		if err != nil {
			return err
		}
		if policy == study.Drop {
			d.drop(c.Name)
			return nil
		}
		d.row[i] = value
	}
	if d.person < 0 {
		d.records.Append(d.row)
	} else {
		d.records.AppendFor(strings.Clone(person), d.row)
	}
	d.records.markMissing(d.records.Len()-1, d.missing)
	return nil
}
