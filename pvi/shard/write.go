package shard

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"fedpvi/pvi/study"
)

// Write writes records in the format of the study, so that [Read] reads the same values. It writes
// decoded values, in which clamping and imputation have already been applied. If there is a column
// that identifies people, it comes last.
func Write(w io.Writer, st *study.Study, records *Records) error {
	out := csv.NewWriter(w)
	out.Comma = st.Table.Separator
	line := make([]string, len(st.Columns))
	person := st.Table.Person
	if person != "" {
		line = append(line, person)
	}
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
		if person != "" {
			line[len(line)-1] = records.person(n)
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

// field returns the text for the value x of column c. For a number, it is the shortest text that
// Read turns into the same number and does not take for a missing value. For a date, it is the
// nearest day.
func field(st *study.Study, c *study.Column, x float64) string {
	if c.Type != study.Numeric {
		return c.Levels[int(x)]
	}
	text := c.Text(x)
	if slices.Contains(st.Table.Missing, text) && !c.Dated {
		text = strconv.FormatFloat(x, 'e', -1, 64)
	}
	return text
}
