package origin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"fedpvi/internal/table"
)

// An Arrow function reads Arrow data, as [fedpvi/internal/table/arrowdata.Read] does.
type Arrow func(ctx context.Context, data io.Reader, size int64, wanted []table.Wanted, use func(table.Reader) error) error

// A Query function runs the SQL query of s and passes a reader of the resulting rows to the
// function use. If s.Database() is false, the database is the SQLite database in the file s.From. A
// Query function writes the values of the rows to named, as bytes that identify the table. It
// returns an error if the query cannot be read, if use returns an error, or if ctx is done.
type Query func(ctx context.Context, s Source, wanted []table.Wanted, named io.Writer, use func(table.Reader) error) error

// These are this program's readers of Arrow data and of databases.
var (
	arrowData Arrow = noArrow
	queries   Query = noQuery
)

// Register sets the readers of Arrow data and of databases. A program that needs them calls
// Register before it reads any table. This package does not import them, because they take long to
// compile.
func Register(a Arrow, q Query) { arrowData, queries = a, q }

// noArrow refuses Arrow data.
func noArrow(context.Context, io.Reader, int64, []table.Wanted, func(table.Reader) error) error {
	return errors.New("this program cannot read Arrow data, but client can: write the rows to a CSV or Parquet file")
}

// noQuery refuses databases.
func noQuery(context.Context, Source, []table.Wanted, io.Writer, func(table.Reader) error) error {
	return errors.New("this program cannot read databases, but client can: write the rows to a CSV or Parquet file")
}

// These are the first bytes of the files that the registered readers can read.
var (
	arrowMagic  = []byte("ARROW1")
	streamMagic = []byte("\xff\xff\xff\xff")
	sqliteMagic = []byte("SQLite format 3\x00")
)

// isArrow reports whether a file begins like an Arrow file or an Arrow stream.
func isArrow(start []byte) bool {
	return bytes.HasPrefix(start, arrowMagic) || bytes.HasPrefix(start, streamMagic)
}

// isSQLite reports whether a file is an SQLite database.
func isSQLite(f *os.File) bool {
	start := make([]byte, len(sqliteMagic))
	_, err := f.ReadAt(start, 0)
	return err == nil && bytes.Equal(start, sqliteMagic)
}
