// Package origin opens tables of records. It reads Parquet files and text files, which may be
// compressed. With readers that a program registers, it also reads Arrow files and the results of
// database queries.
package origin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"fedpvi/internal/guard"
	"fedpvi/internal/table"
)

// A Source tells where a table of records is and which format it has.
type Source struct {
	// From is the path of a file, which may be an SQLite database, or the address of a PostgreSQL
	// database, such as postgres://reader@localhost/cohort. The address must not contain a
	// password, which the driver takes from PGPASSWORD, PGPASSFILE or ~/.pgpass.
	From  string
	Query string // file with the SQL query; empty unless From is a database

	Separator rune // separator of the fields in a text file; 0 means the separator of the format
	Comma     bool // whether numbers in a text file are written with a decimal comma

	// Progress, if set, is called from time to time with the number of units read so far and the
	// total number, or 0 if the total is unknown. A unit is a byte of a text file, or a row of any
	// other source.
	Progress func(read, all int64)

	// Wait, if set, is called before a pipe is opened. Opening blocks until another program opens
	// the pipe for writing, and afterwards over is called.
	Wait func() (over func())
}

// Database reports whether the source is a PostgreSQL database. An SQLite file is not.
func (s Source) Database() bool {
	return strings.HasPrefix(s.From, "postgres://") || strings.HasPrefix(s.From, "postgresql://")
}

// Read opens the table and passes a reader of its rows to use. format is the format of text files;
// settings of the source override it. From a Parquet file, Read reads only the wanted columns. Read
// writes bytes that identify the table to named: the content of a file, or all values of a query in
// order. It fails if the table cannot be opened or read, if use fails, or if ctx is done.
func (s Source) Read(ctx context.Context, format table.Format, wanted []table.Wanted, named io.Writer, use func(table.Reader) error) error {
	if s.Database() {
		return queries(ctx, s, wanted, named, use)
	}
	f, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	defer context.AfterFunc(ctx, func() { f.Close() })() // do not wait any longer for data in a pipe
	if s.Separator != 0 {
		format.Separator = s.Separator
	}
	format.Comma = s.Comma
	if err := s.readFile(ctx, f, format, wanted, named, use); err != nil {
		var path *os.PathError
		located := strings.HasPrefix(err.Error(), s.From) // an error from use may already name the file
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &path), located:
			return err
		}
		return fmt.Errorf("%s: %w", s.From, err)
	}
	return nil
}

func (s Source) readFile(ctx context.Context, f *os.File, format table.Format, wanted []table.Wanted, named io.Writer, use func(table.Reader) error) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() && isSQLite(f) {
		return queries(ctx, s, wanted, named, use)
	}
	if s.Query != "" {
		return errors.New("this is not a database: --query is for an SQLite database, or for a server, such as --data postgres://reader@localhost/cohort")
	}
	if err := readable(info.Mode()); err != nil {
		return err
	}
	bytes := &counted{ctx: ctx, r: f, show: s.Progress, all: info.Size()}
	buffered := bufio.NewReaderSize(io.TeeReader(bytes, named), 1<<16)
	start, err := beginning(buffered)
	if err != nil {
		return err
	}
	switch {
	case isArrow(start):
		if err := arrowData(ctx, buffered, info.Size(), wanted, use); err != nil {
			return err
		}
	case isParquet(start) && !info.Mode().IsRegular():
		return errors.New("a Parquet file cannot be read from a pipe: name the file")
	case isParquet(start):
		if _, err := io.Copy(io.Discard, buffered); err != nil {
			return err
		}
		if fault := guard.Run(func() { err = s.parquet(ctx, f, info.Size(), wanted, use) }); fault != nil {
			return errParquet
		}
		return err
	default:
		text, err := text(start, buffered)
		if err != nil {
			return err
		}
		rows, err := table.NewCSV(text, format)
		if err != nil {
			return err
		}
		if err := use(rows); err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, buffered) // the whole file identifies the table
	return err
}

// readable refuses directories and devices. It accepts a pipe, as from a program that decrypts
// records.
func readable(mode os.FileMode) error {
	switch {
	case mode.IsDir():
		return errors.New("this is a directory: name one file in it")
	case mode.IsRegular(), mode&os.ModeNamedPipe != 0:
		return nil
	}
	return errors.New("this is a device, not a file: name a file of records")
}

func beginning(r *bufio.Reader) ([]byte, error) {
	start, err := r.Peek(16)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return start, err
}

// counted counts the bytes that it reads. It stops when its context is done.
type counted struct {
	ctx       context.Context
	r         io.Reader
	read, all int64
	show      func(read, all int64)
}

func (c *counted) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.read += int64(n)
	if c.show != nil {
		c.show(c.read, c.all)
	}
	return n, err
}
