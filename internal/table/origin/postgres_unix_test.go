//go:build unix

package origin_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedpvi/internal/table"
	"fedpvi/internal/table/origin"
	"fedpvi/internal/testing/postgres"
)

// No error may contain the password, or a value from the database.
func TestDatabase(t *testing.T) {
	server := postgres.Start(t)
	server.Table("patients", "age int, count numeric, pressure float8, dose numeric, treated text, born date, site text", content(t, "patients.csv"))
	query := func(sql string) origin.Source {
		return origin.Source{From: server.Address(), Query: file(t, "query.sql", []byte(sql))}
	}
	if _, _, err := rows(t, query(allByCount)); err == nil || !strings.Contains(err.Error(), "28P01") && !strings.Contains(err.Error(), "28000") {
		t.Errorf("without a password: got %v", err)
	}
	t.Setenv("PGPASSWORD", postgres.Password)
	byCount(t, query)
	for _, c := range []struct{ sql, want string }{
		{"select nothing from patients", "42703"},
		{"select 1 / (age - 34) as age from patients", "22012"},
		{"delete from patients", "25006"},
		{"select 1; select 2", "42601"},
	} {
		_, _, err := rows(t, query(c.sql))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), postgres.Password) {
			t.Errorf("%s: got %v, want SQLSTATE %s", c.sql, err, c.want)
		}
	}
	t.Setenv("PGTZ", "Asia/Tokyo") // these settings would change how dates are written
	t.Setenv("PGOPTIONS", "-c datestyle=German")
	const values = `(values ('2020-02-29 23:30:00'::timestamp), ('1969-12-31 00:00:00'), (null)) as seen(at)`
	for _, column := range []string{"at", "at::date", "at at time zone 'UTC'", "to_char(at, 'YYYY-MM-DD HH24:MI')"} {
		got, err := days(t, query("select "+column+" as at from "+values), "at")
		for i, text := range got {
			got[i] = text[:min(len(text), len("2020-02-29"))]
		}
		if diff := cmp.Diff([]string{"2020-02-29", "1969-12-31", ""}, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", column, err, diff)
		}
	}
	if _, err := days(t, query("select 20200101 as at"), "at"); err == nil || !strings.Contains(err.Error(), "column at: the study reads dates") {
		t.Errorf("numbers as dates: %v", err)
	}
	err := query("select 1 as age").Read(t.Context(), format, wanted, io.Discard, func(r table.Reader) error {
		for {
			if _, err := r.Next(); err != nil {
				return err
			}
		}
	})
	if !errors.Is(err, io.EOF) {
		t.Errorf("the error of use came back as %v", err)
	}
}
