package main

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"fedpvi/internal/testing/mistakes"
)

const tiny = `study = { version = 2, name = "tiny" }
model = { family = "poisson", outcome = "visits", terms = ["age"] }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
federation = { nominal_records = 100 }
[[column]]
name = "age"
type = "numeric"
bounds = [18, 100]
[[column]]
name = "visits"
type = "numeric"
bounds = [0, 20]
`

func TestMistakes(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	check(t, err)
	t.Chdir(t.TempDir())
	folder, err := os.Getwd()
	check(t, err)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	check(t, err)
	check(t, os.WriteFile("tiny.toml", []byte(tiny), 0o600))
	check(t, os.WriteFile("broken.toml", []byte("version = 2\n"), 0o600))
	p := mistakes.Program{Name: "coordinator", Run: run, Message: mistakes.Stderr("coordinator"), Hide: []string{folder + "/", "", port, "7443"}}
	t.Setenv("FEDPVI_COORDINATOR_STATE", filepath.Join(folder, "state"))
	p.Succeed(t, "init", "tiny.toml", "--clients", "north,south", "--address", "127.0.0.1:7443")
	add := func(args ...string) []string { return append([]string{"init"}, args...) }
	p.Check(t, root, "coordinator", []mistakes.Mistake{
		mistakes.Of("an order before the first study, or in the wrong directory", []string{"--state", "nowhere", "status"}, exitFailed, "coordinator init STUDY"),
		mistakes.Of("no study file", add("nothing.toml", "--address", "hub.example.org:7443"), exitUsage, "no such file"),
		mistakes.Of("a study file with a mistake", add("broken.toml", "--address", "hub.example.org:7443"), exitFailed, "broken.toml:1"),
		mistakes.Of("a study without the address of the coordinator", add("tiny.toml"), exitUsage, "--address"),
		mistakes.Of("an address without a port", add("tiny.toml", "--address", "hub.example.org"), exitUsage, "host:port"),
		mistakes.Of("a study that was added before", add("tiny.toml", "--address", "hub.example.org:7443"), exitFailed, "exists already"),
		mistakes.Of("a name that looks like another one", []string{"invite", "n0rth"}, exitFailed, "looks like another"),
		mistakes.Of("a name with a capital letter", []string{"invite", "East"}, exitUsage, "lower"),
		mistakes.Of("a study that does not exist", []string{"status", "diabetes"}, exitFailed, "no study"),
		mistakes.Of("a start before any client has joined", []string{"start"}, exitFailed, "no client has joined"),
		mistakes.Of("the posterior before the end", []string{"posterior"}, exitFailed, "is not over"),
		mistakes.Of("an exclusion before the study has begun", []string{"exclude", "north", "--why", "it left"}, exitFailed, "begin it without this client"),
		mistakes.Of("a port that is in use", []string{"serve", "--listen", "127.0.0.1:" + port}, exitFailed, "--listen"),
		mistakes.Of("a deadline that no client can meet", []string{"serve", "--round-deadline", "1ms"}, exitUsage, "at least a second"),
		mistakes.Of("another file in place of a bundle", []string{"verify", "tiny.toml"}, exitRefused, "not a complete bundle"),
		mistakes.Of("a misspelt flag", []string{"serve", "--listn", ":7443"}, exitUsage, "did you mean"),
		mistakes.Of("a misspelt command", []string{"statsu"}, exitUsage, "did you mean"),
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
