package keyfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"fedpvi/internal/private"
)

// A File is a key file in a state directory.
type File struct {
	Path      string `json:"path"`
	Protected bool   `json:"protected"`
}

// A Listing shows the owner of a state directory its key files.
type Listing struct {
	Protected bool   `json:"protected"` // whether new keys are protected
	Keys      []File `json:"keys"`
}

// List returns the listing for a state directory.
func List(dir string) (*Listing, error) {
	all, err := Files(dir)
	// the JSON of an empty list must be [] and not null
	return &Listing{Locked(dir), append([]File{}, all...)}, err
}

// Write writes the listing as text.
func (l *Listing) Write(w io.Writer) error {
	var b strings.Builder
	for _, f := range l.Keys {
		state := "in the clear"
		if f.Protected {
			state = "protected"
		}
		fmt.Fprintf(&b, "%-12s  %s\n", state, f.Path)
	}
	if l.Protected {
		fmt.Fprintf(&b, "New keys are protected by %s.\n", LockFile)
	} else {
		b.WriteString("New keys are written in the clear.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Summary says in one line whether the keys are protected and how the operator opens them. If only
// some of them are protected, it returns an error.
func (l *Listing) Summary(unlock Unlock) (string, error) {
	protected := 0
	for _, f := range l.Keys {
		if f.Protected {
			protected++
		}
	}
	with := "a passphrase, or with the file of --unlock"
	if unlock.File != "" {
		with = unlock.File
	}
	switch {
	case l.Protected && protected == len(l.Keys):
		return fmt.Sprintf("%d key files, all protected by %s; opened with %s", len(l.Keys), LockFile, with), nil
	case !l.Protected && protected == 0:
		return fmt.Sprintf("%d key files, not encrypted: a person who can read them has the keys", len(l.Keys)), nil
	}
	return "", fmt.Errorf("%d of %d key files are protected", protected, len(l.Keys))
}

// Files returns all key files of a state directory and its studies.
func Files(dir string) (all []File, err error) {
	paths, err := matches(dir, "*"+suffix)
	for _, path := range paths {
		content, err := private.Read(path, maxProtected)
		if err != nil {
			return nil, fmt.Errorf("key file: %w", err)
		}
		all = append(all, File{path, bytes.HasPrefix(content, ageFile)})
		clear(content)
	}
	return all, err
}

func matches(dir, pattern string) ([]string, error) {
	own, err := filepath.Glob(filepath.Join(dir, pattern))
	ofStudies, e := filepath.Glob(filepath.Join(dir, "studies", "*", pattern))
	return append(own, ofStudies...), errors.Join(err, e)
}

// writes has the operations that change a state directory, so that tests can make them fail.
type writes struct {
	replace func(path string, content []byte) error
	remove  func(path string) error
}

var system = writes{private.Replace, private.Remove}

// Protect encrypts all key files in a state directory. The new lock opens with the passphrase or
// the identities that unlock provides. If the directory already has a lock, l must be this lock,
// and Protect replaces its passphrase or identities. No other process may use the directory
// meanwhile.
//
// Each write replaces a file with another that has the same key. If Protect is interrupted, all
// keys can still be read, and a second call completes the work.
func Protect(dir string, l *Lock, unlock Unlock) error { return system.protect(dir, l, unlock) }

func (w writes) protect(dir string, l *Lock, unlock Unlock) error {
	m, err := unlock.chosen(dir)
	if err != nil {
		return err
	}
	if l == nil {
		key, err := age.GenerateHybridIdentity()
		if err != nil {
			return err
		}
		l = &Lock{key}
	}
	path := filepath.Join(dir, LockFile)
	sealed, err := l.sealed(path, m)
	if err != nil {
		return err
	}
	if err := w.replace(path, sealed); err != nil {
		return err
	}
	return w.convert(dir, l, l.protect)
}

// sealed returns the content of a lock file that m opens. It also checks that m opens it.
func (l *Lock) sealed(path string, m material) ([]byte, error) {
	to, err := m.recipients()
	if err != nil {
		return nil, err
	}
	text := []byte(l.key.String() + "\n")
	defer clear(text)
	sealed, err := encrypt(text, to)
	if err != nil {
		return nil, m.explain(path, err)
	}
	again, err := openLock(path, sealed, m)
	if err == nil && again.key.String() != l.key.String() {
		err = fmt.Errorf("%w: %s has opened another key than the one that it locked", ErrLocked, m.named)
	}
	return sealed, err
}

// Unprotect decrypts all key files in a state directory and removes the lock. No other process may
// use the directory meanwhile. If Unprotect is interrupted, a second call completes the work.
func Unprotect(dir string, l *Lock) error { return system.unprotect(dir, l) }

func (w writes) unprotect(dir string, l *Lock) error {
	if err := w.convert(dir, l, (*Lock)(nil).protect); err != nil {
		return err
	}
	return w.remove(filepath.Join(dir, LockFile))
}

// convert applies the function form to the key files that are not converted yet. It also removes
// the temporary files of interrupted writes, because they may have unencrypted keys.
func (w writes) convert(dir string, l *Lock, form func(text []byte) ([]byte, error)) error {
	left, err := matches(dir, private.Unfinished)
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := w.remove(path); err != nil {
			return err
		}
	}
	all, err := Files(dir)
	if err != nil {
		return err
	}
	for _, f := range all {
		text, err := l.text(f.Path)
		if err != nil {
			return err
		}
		content, err := form(text)
		if err != nil {
			return err
		}
		if bytes.HasPrefix(content, ageFile) == f.Protected {
			continue
		}
		if err := w.replace(f.Path, content); err != nil {
			return err
		}
		clear(text)
	}
	return nil
}

// Locked reports whether the key files in a state directory are protected.
func Locked(dir string) bool {
	there, err := private.Exists(filepath.Join(dir, LockFile))
	return there || err != nil // if Exists fails, Open will report the error
}
