//go:build unix

package origin_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedpvi/internal/table"
	"fedpvi/internal/table/origin"
)

// server starts a PostgreSQL server for the test, and returns its port. The user reader may log in
// with the password "secret". It skips the test if PostgreSQL is not installed.
func server(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if found == nil {
		t.Skip("PostgreSQL is not installed (Debian's package postgresql)")
	}
	folder, err := os.MkdirTemp("/tmp", "fedpvi-postgres-") // a short path, for a socket, that the user postgres may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	as := &syscall.SysProcAttr{}
	if os.Getuid() == 0 { // the server refuses to run as root
		other, err := user.Lookup("postgres")
		if err != nil {
			t.Skip("there is no user postgres to run the server")
		}
		uid, _ := strconv.Atoi(other.Uid)
		gid, _ := strconv.Atoi(other.Gid)
		as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(folder, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	do := func(name string, args ...string) {
		t.Helper()
		c := exec.Command(filepath.Join(filepath.Dir(found[len(found)-1]), name), args...)
		c.SysProcAttr, c.Dir, c.Env = as, folder, append(os.Environ(), "PGHOST="+folder, "PGUSER=postgres", "LC_ALL=C.UTF-8")
		log, err := os.CreateTemp(t.TempDir(), "log") // no pipe: the server would keep it open
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		c.Stdout, c.Stderr = log, log
		if err := c.Run(); err != nil {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	data := filepath.Join(folder, "data")
	do("initdb", "-D", data, "-U", "postgres", "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync")
	do("pg_ctl", "-D", data, "-w", "-o", fmt.Sprintf("-p %s -k %s -c listen_addresses=127.0.0.1 -c fsync=off", port, folder), "start")
	t.Cleanup(func() { do("pg_ctl", "-D", data, "-m", "immediate", "stop") })
	t.Setenv("PGPORT", port)
	do("psql", "-v", "ON_ERROR_STOP=1", "-c", `create user reader password 'secret'`)
	do("psql", "-v", "ON_ERROR_STOP=1", "-c", `create table patients (age int, count numeric, pressure float8, dose numeric, treated text, born date, site text)`)
	csv, err := filepath.Abs(filepath.Join("testdata", "patients.csv"))
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(folder, "patients.csv")
	if err := os.WriteFile(copied, content(t, filepath.Base(csv)), 0o644); err != nil {
		t.Fatal(err)
	}
	do("psql", "-v", "ON_ERROR_STOP=1", "-c", fmt.Sprintf(`\copy patients from '%s' csv header`, copied))
	do("psql", "-v", "ON_ERROR_STOP=1", "-c", `grant select on patients to reader`)
	return port
}

// The test copies a CSV file into a database and compares the rows of a query with those of the
// file. The name of the source depends on its values alone, and no error contains a value or the
// password.
func TestDatabase(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the server is started as on Debian")
	}
	port := server(t)
	address := "postgres://reader@127.0.0.1:" + port + "/postgres"
	query := func(sql string) origin.Source {
		return origin.Source{From: address, Query: file(t, "query.sql", []byte(sql))}
	}
	const all = "select age, count, pressure, dose, treated, born, site from patients order by count"
	if _, _, err := rows(t, query(all)); err == nil || !strings.Contains(err.Error(), "28P01") && !strings.Contains(err.Error(), "28000") {
		t.Errorf("without a password: got %v", err)
	}
	t.Setenv("PGPASSWORD", "secret")
	csv, _, err := rows(t, origin.Source{From: filepath.Join("testdata", "patients.csv")})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{csv[0], csv[1], csv[4], csv[5], csv[2], csv[3]} // by count
	got, named, err := rows(t, query(all))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if _, again, _ := rows(t, query(all+" -- the same values")); string(again) != string(named) {
		t.Error("the same values have two names")
	}
	if _, other, _ := rows(t, query(all+" desc")); string(other) == string(named) {
		t.Error("values in another order have the same name")
	}
	for _, c := range []struct{ sql, want string }{
		{"select nothing from patients", "42703"},
		{"select 1 / (age - 34) as age from patients", "22012"},
		{"delete from patients", "25006"},
		{"select 1; select 2", "42601"},
	} {
		_, _, err := rows(t, query(c.sql))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want SQLSTATE %s", c.sql, err, c.want)
		}
	}
	t.Setenv("PGTZ", "Asia/Tokyo") // settings that would change the text of a date
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
	err = query("select 1 as age").Read(t.Context(), format, wanted, io.Discard, func(r table.Reader) error {
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
