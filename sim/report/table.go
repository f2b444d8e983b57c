package report

import (
	"io"

	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/words"
)

// Shorthands for package words, which formats texts about studies for all programs.
var (
	number = words.Number
	plural = words.Plural
	wrap   = words.Wrap
)

// Table writes rows in columns. See [words.Table].
func Table(w io.Writer, indent string, left int, rows [][]string) error {
	return words.Table(w, indent, left, rows)
}

// Reading writes which changes were made to records while reading. See [words.Reading].
func Reading(w io.Writer, r shard.Report) error { return words.Reading(w, r) }

// Warning returns a warning that a study's rounds may be useless. See [words.Warning].
func Warning(p *pvi.Protocol) string { return words.Warning(p) }
