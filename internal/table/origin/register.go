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

// A Query function runs the SQL query of s and passes a reader of the resulting rows to use. If
// s.Database() is false, the database is the SQLite database in the file s.From. It writes the
// values of the rows to named, as bytes that identify the table. It fails if the query cannot be
// read, if use fails, or if ctx is done.
type Query func(ctx context.Context, s Source, wanted []table.Wanted, named io.Writer, use func(table.Reader) error) error

// These are the readers of Arrow data and databases that this program has registered.
var (
	arrowData Arrow = func(context.Context, io.Reader, int64, []table.Wanted, func(table.Reader) error) error {
		return errors.New("this program cannot read Arrow data, but client can: write the rows to a CSV or Parquet file")
	}
	queries Query = func(context.Context, Source, []table.Wanted, io.Writer, func(table.Reader) error) error {
		return errors.New("this program cannot read databases, but client can: write the rows to a CSV or Parquet file")
	}
)

// Register sets the readers of Arrow data and databases. It must be called before any table is
// read. This package does not import them, because they take long to compile.
func Register(a Arrow, q Query) { arrowData, queries = a, q }

// isArrow reports whether a file begins like an Arrow file or an Arrow stream.
func isArrow(start []byte) bool {
	return bytes.HasPrefix(start, []byte("ARROW1")) || bytes.HasPrefix(start, []byte("\xff\xff\xff\xff"))
}

func isSQLite(f *os.File) bool {
	const magic = "SQLite format 3\x00"
	start := make([]byte, len(magic))
	_, err := f.ReadAt(start, 0)
	return err == nil && string(start) == magic
}
