package shard

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"fedpvi/pvi/study"
)

// Write writes records in the form that the study declares, so that [Read] finds the
// same values. What reading dropped, clamped or imputed stays so.
func Write(w io.Writer, st *study.Study, records *Records) error {
	out := csv.NewWriter(w)
	out.Comma = st.Table.Separator
	line := make([]string, len(st.Columns))
	if st.Table.Header {
		for i, c := range st.Columns {
			line[i] = c.Name
		}
		if err := out.Write(line); err != nil {
			return fmt.Errorf("writing records: %w", err)
		}
	}
	for n := range records.Len() {
		for i, x := range records.Row(n) {
			line[i] = field(st, &st.Columns[i], x)
		}
		if err := out.Write(line); err != nil {
			return fmt.Errorf("writing records: %w", err)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("writing records: %w", err)
	}
	return nil
}

// field is how a value stands in a file: a number in the fewest digits that give it
// back, and not in the form that means a missing value.
func field(st *study.Study, c *study.Column, x float64) string {
	if c.Type != study.Numeric {
		return c.Levels[int(x)]
	}
	text := strconv.FormatFloat(x, 'g', -1, 64)
	if slices.Contains(st.Table.Missing, text) {
		text = strconv.FormatFloat(x, 'e', -1, 64)
	}
	return text
}
