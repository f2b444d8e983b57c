package report

import (
	"io"

	"fedpvi/pvi/words"
)

// number, plural and wrap write as everything does that people read about studies.
var (
	number = words.Number
	plural = words.Plural
	wrap   = words.Wrap
)

// Table writes rows in columns; see [words.Table].
func Table(w io.Writer, indent string, left int, rows [][]string) error {
	return words.Table(w, indent, left, rows)
}
