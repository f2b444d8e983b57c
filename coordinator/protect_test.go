package coordinator

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"fedpvi/crypto/keyfile"
)

// All key files must stay protected, and the coordinator must not start without the passphrase.
func TestNewKeysStayProtected(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	with := keyfile.Unlock{File: filepath.Join(t.TempDir(), "unlock")}
	check(t, os.WriteFile(with.File, []byte("correct horse battery staple\n"), 0o600))
	check(t, keyfile.Protect(dir, nil, with))
	h, err := Open(dir, Options{Unlock: with})
	check(t, err)
	s, _, err := h.Found(Founding{File: "plane.toml", Document: []byte(planeText(noPrivacy, "rounds = 1", "")), Addresses: []string{"hub:1"}}, nil, 0)
	check(t, err)
	check(t, s.Rotate(t.Context()))
	fingerprint := h.Fingerprint()
	check(t, h.Close())
	all, err := keyfile.Files(dir)
	check(t, err)
	if len(all) < 7 { // two keys each for identity, TLS and authority, and a sealing key
		t.Errorf("the key files are %v", all)
	}
	for _, f := range all {
		if !f.Protected {
			t.Errorf("%s is in the clear", f.Path)
		}
	}
	if h, err := Open(dir, Options{}); !errors.Is(err, keyfile.ErrLocked) {
		t.Errorf("without what opens the keys: %v, %v", h, err)
	}
	h, err = Open(dir, Options{Unlock: with})
	check(t, err)
	if h.Fingerprint() != fingerprint {
		t.Error("another identity was loaded")
	}
	check(t, h.Close())
}
