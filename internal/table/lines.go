package table

import (
	"bufio"
	"bytes"
	"errors"
)

// lines reads the lines of a file for encoding/csv, which continues a quoted field on the next
// line. If a record lacked a closing quote, encoding/csv would join it with the following records
// up to the next quote, and all of them would be left out. One record would then determine whether
// others are read. So lines treats each line as a record, and replaces one that ends within a
// quoted field by one that encoding/csv refuses without reading further.
//
// A line that ends within a quoted field has an odd number of quotes: the first quote opens the
// field, two quotes within the field mean one quote, and encoding/csv refuses a line with a quote
// at any other place. Conversely, encoding/csv refuses every line with an odd number of quotes, or
// continues on the next line.
//
// A line that is longer than maxLine is replaced as well, so that no file can fill the memory.
type lines struct {
	from   *bufio.Reader
	broken []byte // replaces a line that is too long or has an odd number of quotes

	line []byte // present line
	rest []byte // part of line that has not been read yet
	err  error  // error from reading the file; Read returns it after the current line
}

// maxLine is the maximum length in bytes of a line. Longer lines are not read.
const maxLine = 16 << 20

func newLines(from *bufio.Reader, separator rune) *lines {
	broken := "x\"\n" // encoding/csv refuses a quote inside an unquoted field
	if separator == 'x' {
		broken = "y\"\n"
	}
	return &lines{from: from, broken: []byte(broken)}
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		if l.next(); len(l.rest) == 0 {
			return 0, l.err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *lines) next() {
	l.line, l.err = l.line[:0], bufio.ErrBufferFull
	tooLong := false
	for errors.Is(l.err, bufio.ErrBufferFull) {
		var part []byte
		part, l.err = l.from.ReadSlice('\n')
		if tooLong = tooLong || len(l.line)+len(part) > maxLine; !tooLong {
			l.line = append(l.line, part...)
		}
	}
	if l.rest = l.line; tooLong || bytes.Count(l.line, []byte{'"'})%2 == 1 {
		l.rest = l.broken
	}
}
