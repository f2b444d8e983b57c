//go:build unix

// Package postgres starts PostgreSQL servers for tests.
package postgres

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
)

// Password is the password of the user reader, who may read the tables made by [Server.Table].
const Password = "secret"

// A Server is a running PostgreSQL server with an empty database.
type Server struct {
	t      *testing.T
	folder string // folder for the socket and the data; the server may read files in it
	tools  string // folder with PostgreSQL's programs
	port   string
	as     *syscall.SysProcAttr
}

// Start starts a PostgreSQL server that runs until the test ends. It skips the test if PostgreSQL
// is not installed where Debian installs it.
func Start(t *testing.T) *Server {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if found == nil || runtime.GOOS != "linux" {
		t.Skip("PostgreSQL is not installed (Debian's package postgresql)")
	}
	folder, err := os.MkdirTemp("/tmp", "fedpvi-postgres-") // not in the test's folder, because the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	s := &Server{t, folder, filepath.Dir(found[len(found)-1]), freePort(t), &syscall.SysProcAttr{}}
	if os.Getuid() == 0 { // the server does not run as root
		other, err := user.Lookup("postgres")
		if err != nil {
			t.Skip("there is no user postgres to run the server")
		}
		uid, _ := strconv.Atoi(other.Uid)
		gid, _ := strconv.Atoi(other.Gid)
		s.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(folder, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(folder, "data")
	s.do("initdb", "-D", data, "-U", "postgres", "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync")
	s.do("pg_ctl", "-D", data, "-w", "-o", fmt.Sprintf("-p %s -k %s -c listen_addresses=127.0.0.1 -c fsync=off", s.port, folder), "start")
	t.Cleanup(func() { s.do("pg_ctl", "-D", data, "-m", "immediate", "stop") })
	s.sql("create user reader password '" + Password + "'")
	return s
}

// Address returns the database address for the user reader.
func (s *Server) Address() string { return "postgres://reader@127.0.0.1:" + s.port + "/postgres" }

// Table creates a table and fills it with the rows of a CSV file with a header. columns declares
// the columns, as in "age int, site text". The user reader may read the table.
func (s *Server) Table(name, columns string, csv []byte) {
	s.t.Helper()
	path := filepath.Join(s.folder, name+".csv")
	if err := os.WriteFile(path, csv, 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.sql(fmt.Sprintf("create table %s (%s)", name, columns))
	s.sql(fmt.Sprintf(`\copy %s from '%s' csv header`, name, path))
	s.sql("grant select on " + name + " to reader")
}

// sql executes a statement as the owner of the database.
func (s *Server) sql(statement string) {
	s.t.Helper()
	s.do("psql", "-v", "ON_ERROR_STOP=1", "-c", statement)
}

func (s *Server) do(name string, args ...string) {
	s.t.Helper()
	c := exec.Command(filepath.Join(s.tools, name), args...)
	c.SysProcAttr, c.Dir, c.Env = s.as, s.folder, append(os.Environ(), "PGHOST="+s.folder, "PGPORT="+s.port, "PGUSER=postgres", "LC_ALL=C.UTF-8")
	log, err := os.CreateTemp(s.t.TempDir(), "log") // a file, because the server would keep a pipe open
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	c.Stdout, c.Stderr = log, log
	if err := c.Run(); err != nil {
		text, _ := os.ReadFile(log.Name())
		s.t.Fatalf("%s: %v\n%s", name, err, text)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
