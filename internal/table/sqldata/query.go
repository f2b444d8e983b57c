// Package sqldata reads the rows that queries to PostgreSQL and SQLite databases return. The client
// registers it with package origin. The simulator does without it, because its drivers take 50
// seconds of CPU time to compile.
package sqldata

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strconv"

	"fedpvi/internal/table"
	"fedpvi/internal/table/origin"
)

// progressRows is the number of rows from one progress report to the next.
const progressRows = 1024

// Read runs the query of s and passes a reader of the resulting rows to use (see [origin.Query]).
func Read(ctx context.Context, s origin.Source, wanted []table.Wanted, named io.Writer, use func(table.Reader) error) error {
	if s.Query == "" {
		kind := "an SQLite database"
		if s.Database() {
			kind = "a database"
		}
		return fmt.Errorf("%s needs a query: --query cohort.sql names a file with one SELECT statement", kind)
	}
	query, err := os.ReadFile(s.Query)
	if err != nil {
		return fmt.Errorf("file of the query: %w", err)
	}
	if s.Database() {
		return postgres(ctx, s, string(query), wanted, named, use)
	}
	return sqlite(ctx, s, string(query), named, use)
}

// queryReader reads the rows of a query to a database.
type queryReader struct {
	rows interface {
		Next() bool
		Err() error
	}
	cells  func(to []table.Cell) ([]table.Cell, error) // appends the cells of the current row to a slice
	failed func(error) error                           // describes an error without quoting values from the database
	names  []string
	named  io.Writer
	show   func(read, all int64)
	row    []table.Cell
	length []byte
	read   int64
}

func (q *queryReader) Columns() []string { return q.names }

func (q *queryReader) Unit() string { return "row" }

func (q *queryReader) Row() int { return int(q.read) }

func (q *queryReader) Next() ([]table.Cell, error) {
	if !q.rows.Next() {
		if err := q.rows.Err(); err != nil {
			return nil, q.failed(err)
		}
		return nil, io.EOF
	}
	if q.read++; q.show != nil && q.read%progressRows == 0 {
		q.show(q.read, 0)
	}
	var err error
	if q.row, err = q.cells(q.row[:0]); err != nil {
		return nil, q.failed(err)
	}
	for _, cell := range q.row {
		if err := q.name(cell); err != nil {
			return nil, err
		}
	}
	return q.row, nil
}

// name adds a cell to the bytes that identify the table. It writes the length of the cell's text
// and then the text, so that two neighbouring cells cannot be mistaken for one. A missing value has
// the length −1 and no text.
func (q *queryReader) name(cell table.Cell) error {
	text, length := cell.Text, int64(len(cell.Text))
	switch cell.Kind {
	case table.Missing:
		length = -1
	case table.Number:
		text = strconv.FormatFloat(cell.Number, 'g', -1, 64)
		length = int64(len(text))
	}
	q.length = binary.BigEndian.AppendUint64(q.length[:0], uint64(length))
	_, err := q.named.Write(append(q.length, text...))
	return err
}
