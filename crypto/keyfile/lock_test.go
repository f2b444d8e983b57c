package keyfile

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/plugin"

	"fedpvi/internal/private"
	"fedpvi/internal/testing/canary"
)

const pluginName = "fedpvitest"

// usualFactor is the work factor for passphrases outside of tests.
var usualFactor int

// TestMain runs the tests. If the program has the name of an age plugin, which some tests start,
// TestMain acts as the plugin instead.
func TestMain(m *testing.M) {
	usualFactor, workFactor = workFactor, 4
	if filepath.Base(os.Args[0]) == "age-plugin-"+pluginName {
		os.Exit(runPlugin())
	}
	os.Exit(m.Run())
}

const pluginKey = "FEDPVI_TEST_PLUGIN_KEY"

func runPlugin() int {
	p, err := plugin.New(pluginName)
	if err != nil {
		return 1
	}
	p.HandleIdentity(func([]byte) (age.Identity, error) { return age.ParseX25519Identity(os.Getenv(pluginKey)) })
	p.HandleIdentityAsRecipient(func([]byte) (age.Recipient, error) {
		i, err := age.ParseX25519Identity(os.Getenv(pluginKey))
		if err != nil {
			return nil, err
		}
		return i.Recipient(), nil
	})
	return p.Main()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// directory makes a state directory with three unencrypted keys, and returns their paths.
func directory(t *testing.T) (dir string, paths []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "state")
	for _, name := range []string{"identity.key", "state.key", "studies/0123/tls.key"} {
		path := filepath.Join(dir, name)
		check(t, plain.Create(path, kind, "a comment", count(32)))
		paths = append(paths, path)
	}
	return dir, paths
}

// named returns an Unlock whose file has the given content.
func named(t *testing.T, content string) Unlock {
	t.Helper()
	path := filepath.Join(t.TempDir(), "unlock")
	check(t, os.WriteFile(path, []byte(content), 0o600))
	return Unlock{File: path}
}

const passphrase = "correct horse battery staple\n"

func means(t *testing.T) map[string]Unlock {
	t.Helper()
	x, err := age.GenerateX25519Identity()
	check(t, err)
	h, err := age.GenerateHybridIdentity()
	check(t, err)
	bin := t.TempDir()
	self, err := os.Executable()
	check(t, err)
	check(t, os.Symlink(self, filepath.Join(bin, "age-plugin-"+pluginName)))
	t.Setenv("PATH", bin)
	ofPlugin, err := age.GenerateX25519Identity()
	check(t, err)
	t.Setenv(pluginKey, ofPlugin.String())
	return map[string]Unlock{
		"passphrase": named(t, passphrase),
		"identity":   named(t, "# created by age-keygen\n"+x.String()+"\n"),
		"hybrid":     named(t, h.String()+"\n"),
		"plugin":     named(t, plugin.EncodeIdentity(pluginName, []byte("slot 1"))+"\n"),
		"terminal": {UI: &plugin.ClientUI{RequestValue: func(string, string, bool) (string, error) {
			return "asked for at the terminal", nil
		}}},
	}
}

func TestProtectedKeysAreOpened(t *testing.T) {
	for name, with := range means(t) {
		dir, paths := directory(t)
		check(t, Protect(dir, nil, with))
		l, err := Open(dir, with)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		check(t, l.Create(filepath.Join(dir, "studies/0123/tls-2.key"), kind, "", count(32)))
		for _, path := range append(paths, filepath.Join(dir, "studies/0123/tls-2.key")) {
			content, err := os.ReadFile(path)
			check(t, err)
			if bytes.Contains(content, []byte(kind)) || !bytes.HasPrefix(content, ageFile) {
				t.Errorf("%s: %s is in the clear", name, path)
			}
			if key, err := l.Load(path, kind); err != nil || !key.Equal(count(32)) {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := plain.Load(path, kind); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: without its lock: %v", name, err)
			}
		}
		canary.Absent(t, canary.Shown(l), []byte(l.key.String()))
		check(t, Unprotect(dir, l))
		if l, err := Open(dir, Unlock{}); l != nil || err != nil {
			t.Errorf("%s: %v, %v", name, l, err)
		}
		for _, path := range paths {
			if key, err := plain.Load(path, kind); err != nil || !key.Equal(count(32)) {
				t.Errorf("%s: unprotected: %v", name, err)
			}
		}
	}
}

func TestFilesAreAgeFiles(t *testing.T) {
	dir, paths := directory(t)
	check(t, Protect(dir, nil, named(t, passphrase)))
	open := func(path string, i age.Identity) []byte {
		f, err := os.Open(path)
		check(t, err)
		defer f.Close()
		r, err := age.Decrypt(f, i)
		check(t, err)
		text, err := io.ReadAll(r)
		check(t, err)
		return text
	}
	human, err := age.NewScryptIdentity(strings.TrimSpace(passphrase))
	check(t, err)
	all, err := age.ParseIdentities(bytes.NewReader(open(filepath.Join(dir, LockFile), human)))
	check(t, err)
	if got := open(paths[0], all[0]); !bytes.Equal(got, encode(kind, "a comment", count(32))) {
		t.Errorf("%s", got)
	}
}

// Whenever the conversion is killed, before or after it changes a file, all keys must be readable
// with the lock. A second call must then complete the conversion.
func TestConversionSurvivesAKillAtEachWrite(t *testing.T) {
	with := named(t, passphrase)
	killed := errors.New("killed")
	for at := range 5 {
		for _, after := range []bool{false, true} {
			broken := func() writes {
				n := 0
				kill := func(do func() error) error {
					n++
					if n-1 != at {
						return do()
					}
					if after {
						return errors.Join(do(), killed)
					}
					return killed
				}
				return writes{
					func(path string, content []byte) error {
						return kill(func() error { return private.Replace(path, content) })
					},
					func(path string) error { return kill(func() error { return private.Remove(path) }) },
				}
			}
			dir, paths := directory(t)
			left := filepath.Join(dir, ".new-123")
			check(t, os.WriteFile(left, []byte("a key in the clear"), 0o600))
			readable := func() *Lock {
				l, err := Open(dir, Unlock{UI: &plugin.ClientUI{RequestValue: func(string, string, bool) (string, error) { return strings.TrimSpace(passphrase), nil }}})
				check(t, err)
				for _, path := range paths {
					if key, err := l.Load(path, kind); err != nil || !key.Equal(count(32)) {
						t.Errorf("write %d: %v", at, err)
					}
				}
				return l
			}
			if err := broken().protect(dir, nil, with); !errors.Is(err, killed) {
				t.Fatalf("write %d: %v", at, err)
			}
			check(t, Protect(dir, readable(), with))
			if _, err := os.Lstat(left); err == nil {
				t.Error("an unfinished file is left")
			}
			all, err := Files(dir)
			check(t, err)
			for _, f := range all {
				if !f.Protected {
					t.Errorf("%s is in the clear", f.Path)
				}
			}
			if err := broken().unprotect(dir, readable()); at < 4 && !errors.Is(err, killed) {
				t.Fatalf("write %d: %v", at, err)
			}
			if l := readable(); l != nil {
				check(t, Unprotect(dir, l))
			}
			readable()
		}
	}
}

func TestPassphraseIsReplaced(t *testing.T) {
	if memory := 128 * 8 << usualFactor; memory != 256<<20 { // for r = 8, scrypt needs 128·r·N bytes (RFC 7914)
		t.Errorf("a passphrase takes %d bytes of memory", memory)
	}
	dir, paths := directory(t)
	before, with := named(t, passphrase), named(t, "another long passphrase\n")
	check(t, Protect(dir, nil, before))
	l, err := Open(dir, before)
	check(t, err)
	check(t, Protect(dir, l, with))
	if _, err := Open(dir, before); !errors.Is(err, ErrLocked) {
		t.Errorf("the passphrase before: %v", err)
	}
	l, err = Open(dir, with)
	check(t, err)
	if _, err := l.Load(paths[0], kind); err != nil {
		t.Error(err)
	}
}

func TestLockedKeysSayWhy(t *testing.T) {
	all := means(t)
	dir, paths := directory(t)
	refused := func(u Unlock, say string) {
		t.Helper()
		_, err := Open(dir, u)
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), say) {
			t.Errorf("not %q but %v", say, err)
		}
	}
	refused(all["passphrase"], "are not protected")
	if err := Protect(dir, nil, named(t, "short\n")); !errors.Is(err, ErrLocked) {
		t.Errorf("a short passphrase: %v", err)
	}
	check(t, Protect(dir, nil, all["passphrase"]))
	refused(named(t, "another long passphrase\n"), "it is the wrong one")
	refused(all["identity"], "a passphrase opens")
	refused(Unlock{}, "name a file with --unlock")
	refused(Unlock{File: filepath.Join(dir, "none")}, "no such file")
	refused(named(t, "\n"), "is empty")
	refused(named(t, "two\nlines\n"), "has 2 lines")
	refused(named(t, "AGE-SECRET-KEY-1CANARY\n"), "line 1 of")
	open := named(t, passphrase)
	check(t, os.Chmod(open.File, 0o644))
	refused(open, "chmod 600")
	l, err := Open(dir, all["passphrase"])
	check(t, err)
	check(t, Protect(dir, l, all["plugin"]))
	refused(all["passphrase"], "an age identity opens")
	t.Setenv("PATH", t.TempDir())
	refused(all["plugin"], "install it in a folder of PATH")

	// If the lock file is damaged or missing, the error must be ErrDamaged.
	lock := filepath.Join(dir, LockFile)
	check(t, os.WriteFile(lock, []byte("no age file"), 0o600))
	if _, err := Open(dir, all["identity"]); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged lock: %v", err)
	}
	check(t, os.Remove(lock))
	if _, err := plain.Load(paths[0], kind); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "lock.age is missing") {
		t.Errorf("a lost lock: %v", err)
	}
}

func TestEveryChangedByteOfAProtectedKeyIsDetected(t *testing.T) {
	dir, paths := directory(t)
	with := named(t, passphrase)
	check(t, Protect(dir, nil, with))
	l, err := Open(dir, with)
	check(t, err)
	content, err := os.ReadFile(paths[0])
	check(t, err)
	for i := range content {
		changed := bytes.Clone(content)
		changed[i] ^= 1
		check(t, os.WriteFile(paths[0], changed, 0o600))
		if _, err := l.Load(paths[0], kind); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
}

// A credential file either belongs to the unit's user, with mode 0400 in a directory of mode 0500,
// or to root, with mode 0440 and an access control list. In the second case, the group bits show
// the mask of this list.
func TestCredentialOfSystemd(t *testing.T) {
	dir, _ := directory(t)
	credentials := t.TempDir()
	path := filepath.Join(credentials, "unlock")
	secret := rand.Text()
	check(t, os.WriteFile(path, []byte(secret), 0o400))
	check(t, os.Chmod(credentials, 0o500))
	t.Cleanup(func() { os.Chmod(credentials, 0o700) })
	check(t, Protect(dir, nil, Unlock{File: path}))
	if _, err := Open(dir, Unlock{File: path}); err != nil {
		t.Error(err)
	}
	check(t, os.Chmod(path, 0o440))
	if _, err := Open(dir, Unlock{File: path}); (err == nil) != (os.Getuid() == 0) {
		t.Errorf("mode 0440 of user %d: %v", os.Getuid(), err)
	}
	if os.Getuid() != 0 {
		return
	}
	check(t, os.Chown(path, 65534, 65534))
	if _, err := Open(dir, Unlock{File: path}); !errors.Is(err, ErrLocked) {
		t.Errorf("the group of another user may read the file: %v", err)
	}
}
