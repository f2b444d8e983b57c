//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"fedpvi/client"
	"fedpvi/internal/testing/mistakes"
)

// nobody is the number of a user and of a group that own no files.
const nobody = 65534

// as returns a function that runs the client in folder as the user nobody. The user must be able
// to enter folder.
func as(t *testing.T, folder string) func(args []string) int {
	t.Helper()
	own, err := os.Executable()
	must(t, err)
	program := filepath.Join(folder, "client") // under this name, TestMain runs the client
	if os.Link(own, program) != nil {
		b, err := os.ReadFile(own)
		must(t, err)
		must(t, os.WriteFile(program, b, 0o755))
	}
	return func(args []string) int {
		c := exec.Command(program, args...)
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		var exit *exec.ExitError
		if err := c.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return c.ProcessState.ExitCode()
	}
}

func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	must(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 1<<12))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// The ledgers on the full disk must not change. When there is space again, the same commands must
// succeed.
func TestMistakesOfMachines(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run a program as another user and make a file system")
	}
	root, err := filepath.Abs(root)
	must(t, err)
	folder := t.TempDir()
	t.Chdir(folder)
	must(t, errors.Join(os.Chmod(folder, 0o755), os.Chmod(filepath.Dir(folder), 0o755)))
	must(t, os.Mkdir("full", 0o700))
	if err := syscall.Mount("tmpfs", "full", "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("no file system can be made here: ", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(filepath.Join(folder, "full"), 0)) })
	h := startHub(t, "hub")
	t.Cleanup(h.stop)
	h.invite(t, "north", "south", "east", "west")
	for _, state := range []string{"full/north", "full/south", "east"} {
		command.Succeed(t, "--state", state, "join", filepath.Base(state)+".txt", "--epsilon", "4")
	}
	command.Succeed(t, "--state", "full/south", "approve", "--yes", digest(t))
	fill(t, "full/rest")
	write(t, "patients.csv", []byte(patients))
	write(t, "study.toml", []byte(visits))
	must(t, errors.Join(os.Chmod("study.toml", 0o644), os.Chmod("west.txt", 0o644)))
	before := content(t, "full/north/ledger.db") + content(t, "full/south/ledger.db")

	c := command
	c.Hide = []string{digest(t), "DIGEST", folder + "/", ""}
	user := as(t, folder)
	c.Run = func(args []string) int {
		if args[0] == "--state" && args[1][:4] == "full" {
			return run(args)
		}
		return user(args)
	}
	c.Check(t, root, "machine", []mistakes.Mistake{
		mistakes.Of("a file of records that this user may not read", []string{"check", "study.toml", "--data", "patients.csv"}, client.Usage, "change its permissions"),
		mistakes.Of("a state directory of another user", []string{"--state", "east", "status"}, client.Failed, "as the owner"),
		mistakes.Of("a state directory in a directory of another user", []string{"--state", "west", "join", "west.txt"}, client.Failed, "as the owner"),
		mistakes.Of("a full disk when joining", []string{"--state", "full/west", "join", "west.txt"}, client.Failed, "free space"),
		mistakes.Of("a full disk when approving", []string{"--state", "full/north", "approve", "--yes", digest(t)}, client.Failed, "free space"),
		mistakes.Of("a full disk when running", []string{"--state", "full/south", "run", "--data", "patients.csv"}, client.Failed, "free space"),
	})
	if content(t, "full/north/ledger.db")+content(t, "full/south/ledger.db") != before {
		t.Error("a ledger on the full disk has changed")
	}
	must(t, os.Remove("full/rest"))
	command.Succeed(t, "--state", "full/west", "join", "west.txt", "--epsilon", "4")
	command.Succeed(t, "--state", "full/north", "approve", "--yes", digest(t))
}
