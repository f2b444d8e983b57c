package main

import (
	"errors"
	"os"
	"path/filepath"

	"fedpvi/client/ledger"
	"fedpvi/crypto/keyfile"
	"fedpvi/internal/cli"
)

type keysCommand struct {
	List      keysList      `cmd:"" default:"1" help:"List the key files, and whether they are protected."`
	Protect   keysProtect   `cmd:"" help:"Protect all key files with a passphrase or age identities."`
	Unprotect keysUnprotect `cmd:"" help:"Write all key files in the clear."`
}

func (keysCommand) Help() string {
	return `Examples:

  client keys
  client keys protect                             ask for a new passphrase
  client keys protect --with /etc/fedpvi/unlock   the passphrase or age identities are in this file
  client keys unprotect

After that, name the same file with --unlock in every command. It may be a credential of systemd. It
contains a passphrase on one line, or age identities, which may be those of a plugin for a TPM or a
token. If the keys are already protected, keys protect sets a new passphrase or new identities. If
the command is interrupted, run it again: the keys can be read at any time.`
}

type keysList struct{}

type keysProtect struct {
	With string `help:"File with the passphrase or age identities that open the keys from now on. Default: the file of --unlock if the keys are not protected yet, otherwise a prompt for a new passphrase." placeholder:"FILE"`
}

type keysUnprotect struct{}

func printKeys(dir string, asJSON bool) error {
	l, err := keyfile.List(dir)
	switch {
	case err != nil:
		return err
	case asJSON:
		return cli.PrintJSON(l)
	}
	return l.Write(os.Stdout)
}

func (keysList) Run(c *commands) error {
	dir, err := c.directory()
	if err != nil {
		return err
	}
	return printKeys(dir, c.JSON)
}

func (r *keysProtect) Run(c *commands) error {
	return c.convert(func(dir string, l *keyfile.Lock) error {
		with := keyfile.Unlock{File: r.With, UI: keyfile.Terminal(os.Stderr)}
		if r.With == "" && l == nil {
			with.File = c.Unlock
		}
		return keyfile.Protect(dir, l, with)
	})
}

func (keysUnprotect) Run(c *commands) error { return c.convert(keyfile.Unprotect) }

// convert locks the state directory and calls f. It does not require a ledger, so that even the
// first keys can be protected.
func (c *commands) convert(f func(dir string, l *keyfile.Lock) error) error {
	dir, err := c.directory()
	if err != nil {
		return err
	}
	unlock := c.unlock()
	if !keyfile.Locked(dir) {
		unlock.File = ""
	}
	var lock *keyfile.Lock
	if _, e := os.Lstat(filepath.Join(dir, ledger.File)); errors.Is(e, os.ErrNotExist) {
		if lock, err = keyfile.Open(dir, unlock); err != nil {
			return err
		}
	} else {
		k, err := c.openWith(false, unlock)
		if err != nil {
			return err
		}
		defer k.Close()
		lock = k.Store().Lock()
	}
	if err := f(dir, lock); err != nil {
		return err
	}
	return printKeys(dir, c.JSON)
}
