package keyfile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/plugin"

	"fedpvi/internal/private"
)

// An Unlock tells how to open a lock.
type Unlock struct {
	// File is the path of a file with a passphrase on one line, or with age identities, one on each
	// line. The identities may be those of age plugins. If File is empty, UI asks for a passphrase.
	File string
	// UI asks a person for the passphrase, and for anything that age plugins need. If it is nil,
	// nobody can be asked.
	UI *plugin.ClientUI
}

// Terminal returns a UI that asks at the terminal, only once for each passphrase, and writes
// messages from plugins to w.
func Terminal(w io.Writer) *plugin.ClientUI {
	ui := plugin.NewTerminalUI(func(format string, v ...any) { fmt.Fprintf(w, format+"\n", v...) }, func(string, ...any) {})
	ask, known := ui.RequestValue, map[string]string{}
	ui.RequestValue = func(name, prompt string, secret bool) (string, error) {
		if answer, ok := known[name+prompt]; ok {
			return answer, nil
		}
		answer, err := ask(name, prompt, secret)
		if err == nil {
			known[name+prompt] = answer
		}
		return answer, err
	}
	return ui
}

const (
	maxUnlock     = 64 << 10
	minPassphrase = 12 // minimum number of characters of a new passphrase

	pluginIdentity = "AGE-PLUGIN-"
	nativeIdentity = "AGE-SECRET-KEY-"
)

// workFactor is the base-2 logarithm of scrypt's work factor for new passphrases. With 18, which is
// age's default, scrypt takes about a second and 256 MiB of memory. Tests use less.
var workFactor = 18

// A material opens a lock. It is a passphrase or a list of age identities.
type material struct {
	identities []age.Identity
	passphrase string // empty if there are age identities instead
	named      string // the name of the file, or a phrase for the passphrase; for messages
}

// material returns the passphrase or the identities in the file. If there is no file, it asks for a
// passphrase.
func (u Unlock) material(prompt string) (material, error) {
	if u.File == "" {
		passphrase, err := u.ask(prompt)
		if err != nil {
			return material{}, err
		}
		return withPassphrase(passphrase, "this passphrase")
	}
	content, err := private.ReadGranted(u.File, maxUnlock)
	if err != nil {
		return material{}, fmt.Errorf("%w: --unlock: %w", ErrLocked, err)
	}
	defer clear(content)
	return u.parse(content)
}

func (u Unlock) ask(prompt string) (string, error) {
	const remedy = "name a file with --unlock that has the passphrase or an age identity"
	if u.UI == nil {
		return "", fmt.Errorf("%w: there is no terminal to prompt for the passphrase: %s", ErrLocked, remedy)
	}
	passphrase, err := u.UI.RequestValue("", prompt, true)
	if err != nil {
		return "", fmt.Errorf("%w: the passphrase could not be read (%w): %s", ErrLocked, err, remedy)
	}
	return passphrase, nil
}

// parse parses the content of the file. The errors do not quote it.
func (u Unlock) parse(content []byte) (m material, err error) {
	ui := u.UI
	if ui == nil {
		ui = &plugin.ClientUI{}
	}
	m.named = "--unlock " + u.File
	lines := strings.Split(strings.TrimRight(string(content), "\r\n"), "\n")
	isIdentity := func(line string) bool {
		return strings.HasPrefix(line, pluginIdentity) || strings.HasPrefix(line, nativeIdentity)
	}
	if !slices.ContainsFunc(lines, isIdentity) {
		if len(lines) != 1 {
			return m, fmt.Errorf("%w: %s has %d lines and no age identity: write a passphrase on one line there, or age identities", ErrLocked, m.named, len(lines))
		}
		return withPassphrase(strings.TrimRight(lines[0], "\r"), m.named)
	}
	for n, line := range lines {
		line = strings.TrimSpace(line)
		var i age.Identity
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case strings.HasPrefix(line, pluginIdentity):
			i, err = plugin.NewIdentity(line, ui)
		default:
			var all []age.Identity
			if all, err = age.ParseIdentities(strings.NewReader(line)); err == nil {
				i = all[0]
			}
		}
		if err != nil {
			return m, fmt.Errorf("%w: line %d of %s is not an age identity: copy the whole line that age-keygen or the plugin printed", ErrLocked, n+1, m.named)
		}
		m.identities = append(m.identities, i)
	}
	return m, nil
}

func withPassphrase(passphrase, named string) (material, error) {
	i, err := age.NewScryptIdentity(passphrase)
	if err != nil { // only an empty passphrase is refused by NewScryptIdentity
		return material{}, fmt.Errorf("%w: %s is empty", ErrLocked, named)
	}
	return material{identities: []age.Identity{i}, passphrase: passphrase, named: named}, nil
}

// recipients returns the age recipients for which to encrypt a lock file that m can open.
func (m material) recipients() (all []age.Recipient, err error) {
	if m.identities == nil {
		return nil, errors.New("there is no identity")
	}
	if m.passphrase != "" {
		if len([]rune(m.passphrase)) < minPassphrase {
			return nil, fmt.Errorf("%w: %s is shorter than %d characters: choose a longer one", ErrLocked, m.named, minPassphrase)
		}
		r, err := age.NewScryptRecipient(m.passphrase)
		if err != nil {
			return nil, err
		}
		r.SetWorkFactor(workFactor)
		return []age.Recipient{r}, nil
	}
	for _, i := range m.identities {
		switch i := i.(type) {
		case *age.X25519Identity:
			all = append(all, i.Recipient())
		case *age.HybridIdentity:
			all = append(all, i.Recipient())
		case *plugin.Identity:
			all = append(all, i.Recipient())
		}
	}
	return all, nil
}

// explain explains why m did not open the lock file at path, and what to do about it. err is from
// age.
func (m material) explain(path string, err error) error {
	var missing *plugin.NotFoundError
	var mismatch *age.NoIdentityMatchError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("%w: %s needs the program age-plugin-%s: install it in a folder of PATH (for systemd: Environment=PATH=...)", ErrLocked, m.named, missing.Name)
	case errors.As(err, &mismatch) && slices.Contains(mismatch.StanzaTypes, "scrypt") == (m.passphrase != ""):
		return fmt.Errorf("%w: %s does not open %s: it is the wrong one, or the file is damaged", ErrLocked, m.named, path)
	case errors.As(err, &mismatch) && m.passphrase != "":
		return fmt.Errorf("%w: an age identity opens %s, but %s has a passphrase: name the file with the identity with --unlock", ErrLocked, path, m.named)
	case errors.As(err, &mismatch):
		return fmt.Errorf("%w: a passphrase opens %s, but %s has an age identity: name a file with the passphrase, or leave out --unlock to be asked", ErrLocked, path, m.named)
	case hasPlugin(m.identities):
		return fmt.Errorf("%w: %s does not open %s: %w", ErrLocked, m.named, path, err)
	}
	return fmt.Errorf("%s: %w: %w; restore it from a backup", path, ErrDamaged, err)
}

func hasPlugin(all []age.Identity) bool {
	return slices.ContainsFunc(all, func(i age.Identity) bool { _, ok := i.(*plugin.Identity); return ok })
}

// chosen returns the material for a new lock. A person must type a new passphrase twice.
func (u Unlock) chosen(dir string) (material, error) {
	m, err := u.material(fmt.Sprintf("New passphrase for the keys in %s:", dir))
	if err != nil || u.File != "" {
		return m, err
	}
	again, err := u.ask("The same passphrase again:")
	if err == nil && again != m.passphrase {
		err = fmt.Errorf("%w: the two passphrases differ: try again", ErrLocked)
	}
	return m, err
}
