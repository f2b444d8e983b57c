//go:build unix

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fedpvi/client"
	"fedpvi/coordinator/admin"
	"fedpvi/coordinator/daemon"
	"fedpvi/crypto/identity"
	"fedpvi/internal/testing/mistakes"
	"fedpvi/pvi/study"
)

// visits is the study that the tests run. It gives the noise, so that the programs need not
// calibrate it before a run.
const visits = `study = { version = 2, name = "visits" }
model = { family = "poisson", outcome = "visits", terms = ["age", "sex"] }
privacy = { unit = "client", noise_multiplier = 4.0, delta = 1e-5 }
federation = { max_records = 1000, nominal_records = 100, min_clients = 2 }
[[column]]
name = "age"
type = "numeric"
unit = "years"
bounds = [18, 100]
[[column]]
name = "sex"
type = "categorical"
levels = ["f", "m"]
[[column]]
name = "visits"
type = "numeric"
bounds = [0, 20]
`

// A hub is a coordinator that listens on a port of this machine.
type hub struct {
	dir, address string
	orders       *admin.Remote
	stop         func()
}

func startHub(t *testing.T, dir string) *hub {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		ended <- daemon.Serve(ctx, daemon.Config{
			Dir: dir, Listen: "127.0.0.1:0", RoundDeadline: time.Minute, Log: slog.New(slog.DiscardHandler),
			Ready: func(clients, _ net.Addr) { ready <- clients },
		})
	}()
	h := &hub{dir: dir}
	select {
	case a := <-ready:
		h.address = a.String()
	case err := <-ended:
		t.Fatal(err)
	}
	h.stop = func() { cancel(); must(t, <-ended) }
	var err error
	h.orders, err = admin.Dial(t.Context(), h.dir)
	must(t, err)
	return h
}

// invite adds the study and writes each client's invitation to a file.
func (h *hub) invite(t *testing.T, names ...identity.Name) {
	t.Helper()
	founded, err := h.orders.Found(t.Context(), admin.Founding{
		File: "study.toml", Document: []byte(visits), Addresses: []string{h.address}, Clients: names, Valid: time.Hour,
	})
	must(t, err)
	for _, i := range founded.Invited {
		write(t, string(i.Name)+".txt", []byte(i.Text))
	}
}

// command is the client, the program whose messages are tested.
var command = mistakes.Program{Name: "client", Run: run, Message: mistakes.Stderr("client")}

// root is the path from the folder of this package to the root of the repository.
var root = filepath.Join("..", "..")

// A silence takes the place of a coordinator. It accepts connections, counts them, and closes them
// without an answer.
type silence struct {
	net.Listener
	connections atomic.Int32
}

// silent makes a silence listen at the address of a hub that has stopped.
func silent(t *testing.T, address string) *silence {
	t.Helper()
	l, err := net.Listen("tcp", address)
	must(t, err)
	s := &silence{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.connections.Add(1)
			c.Close()
		}
	}()
	return s
}

// content returns a hash over all files in a folder and its subfolders.
func content(t *testing.T, folder string) string {
	t.Helper()
	h := sha256.New()
	must(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(b), b)
		return err
	}))
	return string(h.Sum(nil))
}

// The state directory must not change, and the client must not connect. For comparison, a run with
// a readable file must connect.
func TestMistakesInFiles(t *testing.T) {
	root, err := filepath.Abs(root)
	must(t, err)
	t.Chdir(t.TempDir())
	h := startHub(t, "hub")
	h.invite(t, "north")
	command.Succeed(t, "--state", "state", "join", "north.txt", "--epsilon", "4")
	command.Succeed(t, "--state", "state", "approve", "--yes", digest(t))
	h.stop()
	port := silent(t, h.address)
	command.Succeed(t, "--state", "state", "status") // the first command after an approval writes to the state directory
	before := content(t, "state")
	runs := command
	runs.Brief = true
	runs.After = func(t *testing.T, m mistakes.Mistake) {
		if n := port.connections.Load(); n != 0 || content(t, "state") != before {
			t.Errorf("%s: %d connections; the state directory is the same: %v", m.Name, n, content(t, "state") == before)
		}
	}
	t.Setenv("FEDPVI_STATE", "state")
	var all []mistakes.Mistake
	base := database(t)
	for _, m := range unreadable(t) {
		all = append(all, mistakes.Mistake{Name: m.what, Args: []string{"run", "--data", m.file}, Code: client.Usage, Has: m.has})
	}
	all = append(all, base.mistakes(t)...)
	folder, err := os.Getwd()
	must(t, err)
	runs.Hide = []string{base.port, "5432", folder + "/", ""}
	runs.Check(t, root, "files", all)

	write(t, "study.toml", []byte(visits))
	var misfits []mistakes.Mistake
	for _, m := range misfit(t) {
		misfits = append(misfits, mistakes.Mistake{Name: m.what, Args: []string{"check", "study.toml", "--data", m.file}, Has: m.has})
	}
	write(t, "dated.toml", []byte(strings.Replace(visits, "type = \"numeric\"\nunit = \"years\"\nbounds = [18, 100]", "type = \"date\"\nsince = \"1980-01-01\"\nbounds = [\"1920-01-01\", \"2007-12-31\"]", 1)))
	write(t, "german.csv", []byte("age,sex,visits\n1991-03-01,f,2\n31.12.1980,f,1\n"))
	write(t, "early.csv", []byte("age,sex,visits\n1991-03-01,f,2\n1880-12-31,f,1\n"))
	misfits = append(misfits,
		mistakes.Of("a date that is not spelled as 1980-12-31", []string{"check", "dated.toml", "--data", "german.csv"}, 0, "a date such as"),
		mistakes.Of("a date outside the bounds", []string{"check", "dated.toml", "--data", "early.csv"}, 0, "[1920-01-01, 2007-12-31]"),
	)
	runs.Message = findings
	runs.Check(t, root, "values", misfits)

	write(t, "patients.csv", []byte(patients))
	if code := command.Code(t, "run", "--data", "patients.csv", "--patience", "1ns", "--round-deadline", "1s"); code != client.Unreachable || port.connections.Load() == 0 {
		t.Errorf("a run with records ended with %d after %d connections", code, port.connections.Load())
	}
}

func digest(t *testing.T) string {
	t.Helper()
	st, err := study.Parse("study.toml", []byte(visits))
	must(t, err)
	return st.Digest.String()
}

// findings extracts the description of the values that do not fit the study. If the paragraph
// before it gives the right number of records for a file with one mistake, it leaves out that
// paragraph.
func findings(stdout, _ string) string {
	_, text, _ := strings.Cut(stdout, "\n\n")
	counts, rest, _ := strings.Cut(text, "\n\n")
	switch counts {
	case "4 rows: the study uses 3 records, and 1 does not fit and is left out.",
		"2 rows: the study uses 1 record, and 1 does not fit and is left out.": // of dated.toml
		text = rest
	}
	found, _, _ := strings.Cut(text, "The study does not know which rows belong to the same person.")
	return found
}
