package report

import (
	"io"

	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/words"
)

// These are shorter names for functions of package words, which formats text for all programs.
var (
	number = words.Number
	plural = words.Plural
	wrap   = words.Wrap
)

// Table writes rows in columns. See [words.Table].
func Table(w io.Writer, indent string, left int, rows [][]string) error {
	return words.Table(w, indent, left, rows)
}

// Reading writes how many records and values were changed when a file was read. See
// [words.Reading].
func Reading(w io.Writer, r shard.Report) error { return words.Reading(w, r) }

// Warning returns a warning if the noise of a study would hide the posterior. See
// [words.Warning].
func Warning(p *pvi.Protocol) string { return words.Warning(p) }
