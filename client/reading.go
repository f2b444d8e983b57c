package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"fedpvi/internal/private"
	"fedpvi/internal/table"
	"fedpvi/internal/table/origin"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// A Reading reports to the data holder how the record file was read for a study. It depends on
// single records and has no noise, so it is kept only in the state directory. No log, metric, exit
// code or message depends on it.
type Reading struct {
	File         string `json:"file"`
	shard.Report        // numbers of records that were left out or changed
	MostRecords  int    `json:"max_records"` // the study's federation.max_records
	// First tells why the first record that was refused was left out, with its file, line and
	// column.
	First string `json:"first,omitempty"`
}

// ReadingFile is the name of the file with the Reading, in a study's folder.
const ReadingFile = "records.json"

func newReading(m *Member, path string, report shard.Report) Reading {
	r := Reading{File: path, Report: report, MostRecords: m.Study.Federation.MaxRecords}
	if report.First != nil {
		r.First = report.First.Error()
	}
	return r
}

// saveReading saves the Reading of a study in place of an earlier one. If this fails, it logs a
// warning that reveals nothing about the Reading, and the study continues.
func (c *Client) saveReading(m *Member, path string, report shard.Report) {
	b, err := json.MarshalIndent(newReading(m, path, report), "", "  ")
	if err == nil {
		err = private.Replace(filepath.Join(c.keyFolder(m.Hash), ReadingFile), append(b, '\n'))
	}
	if err != nil {
		c.log.Warn("the report on the records could not be written", "file", ReadingFile)
	}
}

// ReadNew reads records to make predictions for. They need not belong to the study, and columns may
// be missing.
func ReadNew(ctx context.Context, m *Member, data origin.Source) (records *shard.New, report shard.Report, err error) {
	err = data.Read(ctx, shard.Format(m.Study), shard.Wanted(m.Study), io.Discard, func(rows table.Reader) (err error) {
		records, report, err = shard.ReadNew(data.From, rows, m.Study)
		return err
	})
	if err != nil && ctx.Err() == nil {
		err = &UsageError{err}
	}
	return records, report, err
}

// byColumn returns counts by column, such as " (x 3, y 1)". If there are none, it returns "".
func byColumn(counts map[string]int) string {
	var parts []string
	for _, column := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", column, counts[column]))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func (c *Client) examineData(ctx context.Context, m *Member, data origin.Source) Finding {
	const check = "records"
	_, report, _, err := c.Read(ctx, m, data)
	if err != nil {
		return failed(check, err, "correct the file, choose another one with --data, or say with --separator and --decimal-comma how it is written")
	}
	r := newReading(m, data.From, report)
	found := fmt.Sprintf("%s matches the columns of the study: %d columns, %d records used, %d left out%s",
		data.From, len(m.Study.Columns), r.Records, r.LeftOut()+r.Surplus, byColumn(r.Dropped))
	if r.Malformed > 0 {
		found += fmt.Sprintf(", of them %d lines that could not be split into the fields of a record", r.Malformed)
	}
	if r.Surplus > 0 {
		found += fmt.Sprintf(", of them %d of persons with more than %d records", r.Surplus, m.Study.Privacy.Rows())
	}
	switch {
	case r.Records == 0:
		return failed(check, fmt.Errorf("%s. This client would send only noise", found), "choose another file with --data, or correct this one")
	case r.Refused > 0:
		return failed(check, fmt.Errorf("%s. The study has no rule for %d of them; the first is %s", found, r.Refused, r.First), "run client check --data for their rows and remedies, or run without these records")
	case r.Records > r.MostRecords:
		return failed(check, fmt.Errorf("%s. The study allows sums of at most federation.max_records = %d records, and cuts off larger sums", found, r.MostRecords), "tell the coordinator's people that the study needs a larger federation.max_records, or run all the same")
	}
	return passed(check, "%s", found)
}

// ExamineRecords examines a table of records for a study, and returns the records that a client
// would use. It needs no state directory and stores nothing. person is the column that identifies
// the person that a row is about. If it is empty, the study's own column is used. Only the data
// holder may see the result.
func ExamineRecords(ctx context.Context, st *study.Study, data origin.Source, person string) (records *shard.Records, found *shard.Examination, err error) {
	wanted := shard.Wanted(st)
	if person != "" && !slices.ContainsFunc(wanted, func(w table.Wanted) bool { return w.Name == person }) {
		wanted = append(wanted, table.Wanted{Name: person})
	}
	err = data.Read(ctx, shard.Format(st), wanted, io.Discard, func(rows table.Reader) (err error) {
		records, found, err = shard.Examine(data.From, rows, st, person)
		return err
	})
	if err != nil && ctx.Err() == nil {
		err = &UsageError{err}
	}
	return records, found, err
}
