package client_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedpvi/client"
	"fedpvi/crypto/keyfile"
)

func TestStudyContinuesWithProtectedKeys(t *testing.T) {
	_, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p := all[0]
	p.mustStep()
	with := keyfile.Unlock{File: filepath.Join(t.TempDir(), "unlock")}
	check(t, os.WriteFile(with.File, []byte("correct horse battery staple\n"), 0o600))
	check(t, keyfile.Protect(p.dir, nil, with))
	if _, err := client.Open(client.Options{Dir: p.dir}); client.CodeOf(err) != client.Usage || !errors.Is(err, keyfile.ErrLocked) {
		t.Errorf("without what opens the keys: %v", err)
	}
	c, err := client.Open(client.Options{Dir: p.dir, Unlock: with})
	check(t, err)
	_, err = c.Member("")
	check(t, err)
	keys := func(c *client.Client) client.Finding {
		found := c.Examine(t.Context(), client.Examination{})
		return found[slices.IndexFunc(found, func(f client.Finding) bool { return f.Check == "keys" })]
	}
	if f := keys(c); !f.OK || !strings.Contains(f.Found, "4 key files, all protected") || !strings.HasSuffix(f.Found, "opened with "+with.File) {
		t.Errorf("the doctor finds %+v", f)
	}
	lock := c.Store().Lock()
	check(t, c.Close())
	check(t, keyfile.Unprotect(p.dir, lock))
	c = p.open()
	if f := keys(c); !f.OK || !strings.HasPrefix(f.Found, "4 key files, not encrypted") {
		t.Errorf("the doctor finds %+v", f)
	}
	check(t, c.Close())
	p.mustStep()
}

// The roster has the old TLS key, so the other parties would reject a new one.
func TestLostKeyForConnectionsIsNotMadeAnew(t *testing.T) {
	dir := unpack(t, "state-424c10c.tar.gz")
	lost, err := filepath.Glob(filepath.Join(dir, "*.state", "studies", "*", "tls.key"))
	check(t, err)
	if len(lost) == 0 {
		t.Fatal("there is no such key")
	}
	check(t, os.Remove(lost[0]))
	c, err := client.Open(client.Options{Dir: filepath.Dir(filepath.Dir(filepath.Dir(lost[0])))})
	check(t, err)
	defer c.Close()
	if _, err := c.Member(""); client.CodeOf(err) != client.Damaged {
		t.Errorf("code %d: %v", client.CodeOf(err), err)
	}
	if _, err := os.Lstat(lost[0]); err == nil {
		t.Error("a new key was made")
	}
}
