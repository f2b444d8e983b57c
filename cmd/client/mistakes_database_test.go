//go:build unix

package main

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"fedpvi/client"
	"fedpvi/internal/testing/mistakes"
)

// A base acts as a PostgreSQL server. It lets the user reader in, and answers each query with an
// error. The text of the query is the SQLSTATE of the error.
type base struct{ port string }

func database(t *testing.T) *base {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_ = serveBase(c) // the client closes the connection
			}()
		}
	}()
	return &base{port}
}

// serveBase speaks version 3.0 of PostgreSQL's protocol with one client.
func serveBase(c io.ReadWriter) error {
	start, err := message(c)
	if err == nil && binary.BigEndian.Uint32(start) == 80877103 { // the client asks for TLS
		if _, err = c.Write([]byte("N")); err == nil {
			start, err = message(c)
		}
	}
	if err != nil {
		return err
	}
	const ready = "Z\x00\x00\x00\x05I"
	if !strings.Contains(string(start), "\x00reader\x00") {
		_, err := c.Write(failure("28P01"))
		return err
	}
	if _, err := io.WriteString(c, "R\x00\x00\x00\x08\x00\x00\x00\x00"+ready); err != nil {
		return err
	}
	for {
		kind := make([]byte, 1)
		if _, err := io.ReadFull(c, kind); err != nil {
			return err
		}
		body, err := message(c)
		if err != nil {
			return err
		}
		answer := ""
		switch kind[0] {
		case 'Q': // a query without results, such as BEGIN
			answer = "C\x00\x00\x00\x0aBEGIN\x00" + ready
		case 'P': // a query with results; the message has its name, its text and the types of its parameters
			answer = string(failure(strings.Split(string(body), "\x00")[1]))
		case 'S':
			answer = ready
		case 'X':
			return nil
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return err
		}
	}
}

func message(r io.Reader) ([]byte, error) {
	length := make([]byte, 4)
	if _, err := io.ReadFull(r, length); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(length)-4)
	_, err := io.ReadFull(r, body)
	return body, err
}

func failure(state string) []byte {
	fields := "SERROR\x00C" + state + "\x00Mvalue of a record\x00\x00"
	return append(binary.BigEndian.AppendUint32([]byte("E"), uint32(4+len(fields))), fields...)
}

func empty(t *testing.T) string {
	t.Helper()
	base, err := sql.Open("sqlite", "empty.sqlite")
	must(t, err)
	_, err = base.Exec("pragma user_version = 1")
	must(t, errors.Join(err, base.Close()))
	return "empty.sqlite"
}

func (b *base) mistakes(t *testing.T) (all []mistakes.Mistake) {
	address := "postgres://reader@127.0.0.1:" + b.port + "/cohort"
	for _, m := range []struct{ what, address, query, has string }{
		{"a database without a query", address, "", "--query cohort.sql"},
		{"a query for a file that is no database", "folder", "select.sql", "--query is for"},
		{"a query with a syntax error for SQLite", empty(t), "selct", "syntax error"},
		{"a query for a table that an SQLite database lacks", "empty.sqlite", "select * from visits", "no such table"},
		{"a query that writes to an SQLite database", "empty.sqlite", "create table visits (age)", "only reads"},
		{"a password in the address", strings.Replace(address, "@", ":secret@", 1), "select.sql", "PGPASSWORD"},
		{"a wrong user or password", strings.Replace(address, "reader", "writer", 1), "select.sql", "the password is wrong"},
		{"a port at which no database listens", "postgres://reader@127.0.0.1:1/cohort", "select.sql", "check host, port"},
		{"a query that writes", address, "25006", "only reads"},
		{"a query with a syntax error", address, "42601", "one SELECT statement"},
		{"a query for a table that does not exist", address, "42P01", "try the query with psql"},
		{"a query for a table that the user may not read", address, "42501", "GRANT SELECT"},
	} {
		args := []string{"run", "--data", m.address}
		if m.query != "" {
			name := m.query
			if first, _, ok := strings.Cut(m.query, " "); ok {
				name = "sqlite-" + first + ".sql"
			}
			write(t, name, []byte(m.query))
			args = append(args, "--query", name)
		}
		all = append(all, mistakes.Mistake{Name: m.what, Args: args, Code: client.Usage, Has: m.has})
	}
	return all
}
