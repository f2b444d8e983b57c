package shard

import (
	"bufio"
	"bytes"
	"errors"
)

// lines reads the lines of a file for encoding/csv, which continues a quoted field on the next
// line. A quote that is missing in one record would then join this record with those after it, up to
// the next such quote, and all of them would be left out. Removing that one record would bring the
// others back. So a record is one line: a line that ends within a quoted field is replaced by one
// that encoding/csv refuses without reading on.
//
// A line ends within a quoted field only if it has an odd number of quotes: the first quote of a
// field opens it, two quotes within it stand for a quote, and at any other place encoding/csv
// refuses the line. Conversely it refuses every line with an odd number of quotes, or reads on.
type lines struct {
	from   *bufio.Reader
	broken []byte // line that stands for one with an odd number of quotes

	line []byte // present line
	rest []byte // part of line that was not read yet
	err  error  // error of from, after the present line
}

func newLines(from *bufio.Reader, separator rune) *lines {
	broken := "x\"\n" // a quote in a field without quotes
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
	for errors.Is(l.err, bufio.ErrBufferFull) {
		var part []byte
		part, l.err = l.from.ReadSlice('\n')
		l.line = append(l.line, part...)
	}
	if l.rest = l.line; bytes.Count(l.line, []byte{'"'})%2 == 1 {
		l.rest = l.broken
	}
}
