package report

import (
	"io"

	"fedpvi/pvi"
	"fedpvi/pvi/shard"
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

// Reading writes what reading did to records; see [words.Reading].
func Reading(w io.Writer, r shard.Report) error { return words.Reading(w, r) }

// Warning says that a study's rounds may come to nothing; see [words.Warning].
func Warning(p *pvi.Protocol) string { return words.Warning(p) }
