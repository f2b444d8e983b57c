package sqldata

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"fedpvi/internal/table"
	"fedpvi/internal/table/origin"
)

// sqlite runs a query on an SQLite database and passes a reader of the resulting rows to use. The
// query runs in a read-only transaction. No error contains a value from the database.
func sqlite(ctx context.Context, s origin.Source, query string, named io.Writer, use func(table.Reader) error) (err error) {
	path, err := filepath.Abs(s.From)
	if err != nil {
		return err
	}
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro&_pragma=query_only(1)"}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return errors.New("this SQLite database cannot be opened")
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("no read-only transaction%s", failedSQLite(err))
	}
	defer func() { _ = tx.Rollback() }() // there is nothing to undo
	if err := compiles(ctx, tx, query); err != nil {
		return fmt.Errorf("the query %s is refused: %w", s.Query, err)
	}
	failed := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the query %s failed%s", s.Query, failedSQLite(err))
	}
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return failed(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil || len(names) == 0 {
		return fmt.Errorf("the query %s returns no columns: write one SELECT statement", s.Query)
	}
	return use(&queryReader{rows: rows, names: names, named: named, show: s.Progress, cells: scannedCells(rows, len(names)), failed: failed})
}

// compiles checks that the database can execute the query. Its error contains no value from a
// record, because it reads no rows.
func compiles(ctx context.Context, tx *sql.Tx, query string) error {
	rows, err := tx.QueryContext(ctx, "EXPLAIN "+query)
	if err != nil {
		return err
	}
	return rows.Close()
}

// failedSQLite returns the end of an error message: advice and, for some errors, their code. It
// leaves out the text of the error, which can contain values from the database.
func failedSQLite(err error) string {
	const readOnly, notADatabase, damaged = 8, 26, 11
	var told interface{ Code() int }
	if !errors.As(err, &told) {
		return ": run it with sqlite3 to see the reason"
	}
	switch told.Code() & 0xff {
	case readOnly:
		return ": the query changes the database, but the program only reads: write one SELECT statement"
	case notADatabase, damaged:
		return ": the database is damaged, or encrypted: check it with sqlite3 FILE 'pragma integrity_check'"
	}
	return fmt.Sprintf(" (SQLite error %d): run it with sqlite3 to see the reason", told.Code())
}

// scannedCells returns a function that appends the cells of the current row to a slice.
func scannedCells(rows *sql.Rows, columns int) func([]table.Cell) ([]table.Cell, error) {
	values, into := make([]any, columns), make([]any, columns)
	for i := range values {
		into[i] = &values[i]
	}
	return func(to []table.Cell) ([]table.Cell, error) {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for _, value := range values {
			to = append(to, sqliteCell(value))
		}
		return to, nil
	}
}

// sqliteCell converts a value from the driver. The driver turns text into a time if its column is
// declared as a date or a time. sqliteCell turns it back into text.
func sqliteCell(value any) table.Cell {
	switch v := value.(type) {
	case nil:
		return table.Cell{Kind: table.Missing}
	case int64:
		return table.Whole(v)
	case float64:
		return table.Cell{Kind: table.Number, Number: v}
	case bool:
		return table.Cell{Text: strconv.FormatBool(v)}
	case []byte:
		return table.Cell{Text: string(v)}
	case interface{ Format(string) string }: // a time
		return table.Cell{Text: strings.TrimSuffix(v.Format("2006-01-02 15:04:05.999999999"), " 00:00:00")}
	}
	return table.Cell{Text: fmt.Sprint(value)}
}
