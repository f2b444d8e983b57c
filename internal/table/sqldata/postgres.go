package sqldata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"fedpvi/internal/table"
	"fedpvi/internal/table/origin"
)

// postgres runs a query on a PostgreSQL database and passes a reader of the resulting rows to use.
// The query runs in a read-only transaction that sees a single state of the database. No error
// contains a value from the database.
func postgres(ctx context.Context, s origin.Source, sql string, wanted []table.Wanted, named io.Writer, use func(table.Reader) error) (err error) {
	config, err := pgx.ParseConfig(s.From)
	if err != nil {
		return errors.New("the address of the database cannot be parsed: write it as postgres://USER@HOST:PORT/DATABASE")
	}
	address := fmt.Sprintf("database %s at %s:%d", config.Database, config.Host, config.Port)
	if hasPassword(s.From) {
		return fmt.Errorf("%s: leave the password out of the address, where other users of this machine can see it: put it into PGPASSWORD, or into a file that PGPASSFILE names", address)
	}
	config.RuntimeParams["datestyle"], config.RuntimeParams["timezone"] = "ISO", "UTC" // settings of the server must not affect the format of a date
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("%s: cannot connect%s", address, reason(err))
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return fmt.Errorf("%s: no read-only transaction%s", address, reason(err))
	}
	rows, err := tx.Query(ctx, sql, pgx.QueryResultFormats{pgx.TextFormatCode})
	if err != nil {
		return fmt.Errorf("%s: the query %s failed%s", address, s.Query, reason(err))
	}
	defer rows.Close()
	r := &queryReader{rows: rows, named: named, show: s.Progress, cells: textCells(rows), failed: func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: the query %s failed%s", address, s.Query, reason(err))
	}}
	for _, f := range rows.FieldDescriptions() {
		r.names = append(r.names, f.Name)
		if slices.Contains(wanted, table.Wanted{Name: f.Name, Date: true}) && !slices.Contains(dated, f.DataTypeOID) {
			return fmt.Errorf("%s: the query %s: column %s: the study reads dates: select a date, a timestamp or a text such as 2020-12-31", address, s.Query, f.Name)
		}
	}
	if len(r.names) == 0 { // the query has failed, or it is not a SELECT statement
		if _, err := r.Next(); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return fmt.Errorf("%s: the query %s returns no columns: write one SELECT statement", address, s.Query)
	}
	return use(r)
}

// dated lists the column types that can have dates.
var dated = []uint32{
	pgtype.DateOID, pgtype.TimestampOID, pgtype.TimestamptzOID, pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID,
}

func hasPassword(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	_, in := u.User.Password()
	return in || u.Query().Has("password")
}

// states has advice for the most frequent database errors, by SQLSTATE.
var states = map[string]string{
	"25006": "the query changes the database, but the program only reads: write one SELECT statement",
	"28000": "the server does not let this user in from here: check the user and pg_hba.conf",
	"28P01": "the password is wrong: put it into PGPASSWORD, or into a file that PGPASSFILE names",
	"3D000": "the server has no such database: check the end of the address",
	"42501": "the user may not read a table of the query: GRANT SELECT ON it",
	"42601": "the query has a syntax error: write one SELECT statement, and try it with psql",
	"42703": "a column of the query does not exist: try the query with psql",
	"42P01": "a table of the query does not exist: try the query with psql",
}

// reason returns the end of an error message: the error code of the database, and advice. It leaves
// out the text of the error, which can contain values from the database.
func reason(err error) string {
	var told *pgconn.PgError
	if errors.As(err, &told) {
		return fmt.Sprintf(" (SQLSTATE %s): %s", told.Code, cmp.Or(states[told.Code], "run it with psql to see the reason"))
	}
	return ": check host, port, user, password and pg_hba.conf with psql"
}

// textCells returns a function that appends the cells of the current row to a slice. The cells are
// text, as PostgreSQL sends it.
func textCells(rows pgx.Rows) func([]table.Cell) ([]table.Cell, error) {
	return func(to []table.Cell) ([]table.Cell, error) {
		for _, value := range rows.RawValues() {
			cell := table.Cell{Text: string(value)}
			if value == nil {
				cell.Kind = table.Missing
			}
			to = append(to, cell)
		}
		return to, nil
	}
}
