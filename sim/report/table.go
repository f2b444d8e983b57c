package report

import (
	"io"

	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/words"
)

// Shorthands for package words, which formats text about studies everywhere.
var (
	number = words.Number
	plural = words.Plural
	wrap   = words.Wrap
)

// Table writes rows in columns; see [words.Table].
func Table(w io.Writer, indent string, left int, rows [][]string) error {
	return words.Table(w, indent, left, rows)
}

// Reading writes the changes that reading made to records; see [words.Reading].
func Reading(w io.Writer, r shard.Report) error { return words.Reading(w, r) }

// Warning warns that a study's rounds may be useless; see [words.Warning].
func Warning(p *pvi.Protocol) string { return words.Warning(p) }
