package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"fedpvi/client"
	"fedpvi/crypto/keyfile"
	"fedpvi/internal/cli"
)

// version returns the program's name and version for the ledger.
func version() string { return "fedpvi client " + cli.Version() }

func (c *commands) directory() (string, error) {
	if c.State != "" {
		return filepath.Abs(c.State)
	}
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "fedpvi"), nil
	}
	if runtime.GOOS == "windows" {
		local, err := os.UserCacheDir() // %LocalAppData%, which is not copied to other machines
		return filepath.Join(local, "fedpvi"), err
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state", "fedpvi"), err
}

// next returns a command line that a message can suggest as the next step. It has the state
// directory if this command line has it.
func (c *commands) next(command string) string { return c.program() + " " + command }

// program returns the beginning of a command line that uses the same state directory.
func (c *commands) program() string {
	if c.State == "" || os.Getenv("FEDPVI_STATE") != "" {
		return "client"
	}
	return "client --state " + c.State
}

func (c *commands) open() (*client.Client, error) { return c.openWith(false, c.unlock()) }

func (c *commands) unlock() keyfile.Unlock {
	return keyfile.Unlock{File: c.Unlock, UI: keyfile.Terminal(os.Stderr)}
}

// openWith opens the state directory. If create is true, it creates a missing one.
func (c *commands) openWith(create bool, unlock keyfile.Unlock) (*client.Client, error) {
	dir, err := c.directory()
	if err != nil {
		return nil, err
	}
	return client.Open(client.Options{Dir: dir, Program: version(), Command: "client " + c.command, Log: c.logger(), Audit: c.audited, Create: create, Unlock: unlock})
}

// logger returns a logger for standard error. On a terminal it writes warnings and errors as text.
// Elsewhere it writes all messages as JSON. With --quiet it writes only warnings and errors.
func (c *commands) logger() *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	auto := c.Log == "auto" && cli.Terminal(os.Stderr)
	if auto || c.Quiet {
		o.Level = slog.LevelWarn
	}
	if auto || c.Log == "text" {
		return slog.New(slog.NewTextHandler(os.Stderr, o))
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, o))
}

// with opens the client, selects the study and calls f with both.
func (c *commands) with(f func(k *client.Client, m *client.Member) error) error {
	k, err := c.open()
	if err != nil {
		return err
	}
	defer k.Close()
	m, err := k.Member(c.Study)
	if err != nil {
		return err
	}
	return f(k, m)
}

func (c *commands) policy() (*client.Policy, error) {
	dir, err := c.directory()
	if err != nil {
		return nil, err
	}
	return client.LoadPolicy(dir)
}
