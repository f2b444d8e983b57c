package table

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Format describes text files.
type Format struct {
	Header    bool // whether the first line names the columns
	Separator rune // field separator
	Trim      bool // whether to ignore blanks before a quoted field
	Comma     bool // whether numbers are written with a decimal comma
	Columns   int  // number of columns if the file has no header
}

// csvReader reads a text file. Each line is a row.
type csvReader struct {
	csv    *csv.Reader
	format Format
	names  []string
	cells  []Cell
}

// NewCSV returns a reader of a text file in UTF-8, which may begin with a byte order mark. A row is
// a line of the file, so a quoted field cannot contain a line break. If format.Header is true, the
// first line must have the names of the columns, and NewCSV fails if it cannot read them.
func NewCSV(r io.Reader, format Format) (Reader, error) {
	const mark = "\ufeff"
	b := bufio.NewReader(r)
	if start, err := b.Peek(len(mark)); err == nil && string(start) == mark {
		if _, err := b.Discard(len(mark)); err != nil {
			return nil, err
		}
	}
	c := &csvReader{csv: csv.NewReader(newLines(b, format.Separator)), format: format}
	c.csv.Comma = format.Separator
	c.csv.ReuseRecord = true
	c.csv.TrimLeadingSpace = format.Trim
	if !format.Header {
		c.csv.FieldsPerRecord = format.Columns
		return c, nil
	}
	header, err := c.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: its first line must name the columns")
	}
	var quotes *csv.ParseError
	if errors.As(err, &quotes) {
		return nil, errors.New("the first line cannot be split into names: a quote is inside a name, or a quoted name does not end on the line")
	}
	if err != nil {
		return nil, c.malformed(err)
	}
	if err := legible(header); err != nil {
		return nil, err
	}
	c.names = append(c.names, header...) // for later lines, encoding/csv requires as many fields as the header has
	return c, nil
}

// legible refuses a header that is not UTF-8 text. It also refuses one with a carriage return,
// which encoding/csv does not treat as a line end.
func legible(header []string) error {
	line := strings.Join(header, "")
	switch {
	case strings.ContainsRune(line, 0):
		return errors.New("the first line contains zero bytes, so the file is not text in UTF-8: if it is text in UTF-16, convert it: iconv -f UTF-16 -t UTF-8")
	case !utf8.ValidString(line):
		return errors.New("the first line is not text in UTF-8: convert the file, for example from the encoding of Windows: iconv -f WINDOWS-1252 -t UTF-8")
	case strings.ContainsRune(line, '\r'):
		return errors.New("the lines end with a carriage return alone: convert the file: tr '\\r' '\\n'")
	}
	return nil
}

func (c *csvReader) Columns() []string { return c.names }

func (c *csvReader) Next() ([]Cell, error) {
	fields, err := c.csv.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, err
	case err != nil:
		return nil, c.malformed(err)
	}
	kind := Text
	if c.format.Comma {
		kind = CommaText
	}
	c.cells = c.cells[:0]
	for _, field := range fields {
		c.cells = append(c.cells, Cell{Kind: kind, Text: field})
	}
	return c.cells, nil
}

func (c *csvReader) Unit() string { return "line" }

func (c *csvReader) Row() int {
	line, _ := c.csv.FieldPos(0)
	return line
}

// malformed describes an error of encoding/csv, or an error of the file.
func (c *csvReader) malformed(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return fmt.Errorf("reading: %w", err)
	}
	message := parse.Err.Error() + ", or a quoted field does not end on its line"
	if errors.Is(parse.Err, csv.ErrFieldCount) {
		message = fmt.Sprintf("the line does not have the expected %d fields: check the separator (%q is expected) and the quotes", c.csv.FieldsPerRecord, c.format.Separator)
	}
	return &Malformed{Row: parse.Line, Message: message}
}
