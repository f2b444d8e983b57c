package main

import (
	"errors"
	"os"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/keyfile"
	"fedpvi/internal/cli"
)

type keysCommand struct {
	List      keysList      `cmd:"" default:"1" help:"List the key files, and whether they are protected."`
	Protect   keysProtect   `cmd:"" help:"Protect all key files with a passphrase or age identities. The coordinator must be stopped."`
	Unprotect keysUnprotect `cmd:"" help:"Write all key files in the clear. The coordinator must be stopped."`
}

func (keysCommand) Help() string {
	return `Examples:

  coordinator keys
  coordinator keys protect                             ask for a new passphrase
  coordinator keys protect --with /etc/fedpvi/unlock   the passphrase or age identities are in this file
  coordinator keys unprotect

After that, name the same file with --unlock in every command. It may be a credential of systemd. It
contains a passphrase on one line, or age identities, which may be those of a plugin for a TPM or a
token. If the keys are already protected, keys protect sets a new passphrase or new identities. If
the command is interrupted, run it again: the keys can be read at any time.`
}

type keysList struct{ jsonFlag }

type keysProtect struct {
	jsonFlag
	With string `help:"File with the passphrase or age identities that open the keys from now on. Default: the file of --unlock if the keys are not protected yet, otherwise a prompt for a new passphrase." placeholder:"FILE"`
}

type keysUnprotect struct{ jsonFlag }

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

func (r keysList) Run(e *environment) error { return printKeys(e.state, r.JSON) }

func (r *keysProtect) Run(e *environment) error {
	return e.convert(r.JSON, func(dir string, l *keyfile.Lock) error {
		with := keyfile.Unlock{File: r.With, UI: e.unlock.UI}
		if r.With == "" && l == nil {
			with.File = e.unlock.File
		}
		return keyfile.Protect(dir, l, with)
	})
}

func (r keysUnprotect) Run(e *environment) error { return e.convert(r.JSON, keyfile.Unprotect) }

// convert locks the state directory and calls f. It does not require a study, so that even the
// first keys can be protected.
func (e *environment) convert(asJSON bool, f func(dir string, l *keyfile.Lock) error) (err error) {
	if _, e2 := os.Lstat(store.Path(e.state)); !errors.Is(e2, os.ErrNotExist) {
		held, err := store.Open(e.state, store.Options{})
		if err != nil {
			return err
		}
		defer held.Close()
	}
	unlock := e.unlock
	if !keyfile.Locked(e.state) {
		unlock.File = ""
	}
	lock, err := keyfile.Open(e.state, unlock)
	if err != nil {
		return err
	}
	if err := f(e.state, lock); err != nil {
		return err
	}
	return printKeys(e.state, asJSON)
}
