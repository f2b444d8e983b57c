package keyfile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestVersionsOfAKeyFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tls.key")
	for i, want := range []string{"tls.key", "tls-2.key", "tls-3.key"} {
		next, err := Next(path)
		if err != nil || filepath.Base(next) != want {
			t.Errorf("version %d is %s, %v", i+1, next, err)
		}
		check(t, os.WriteFile(next, nil, 0o600))
	}
	for _, other := range []string{"tls-02.key", "tls-1.key", "tls-x.key", "tls-9.key.new", "sealing.key", "tls-12"} {
		check(t, os.WriteFile(filepath.Join(dir, other), nil, 0o600))
	}
	check(t, os.Remove(path))
	all, err := Versions(path)
	if want := []string{filepath.Join(dir, "tls-2.key"), filepath.Join(dir, "tls-3.key")}; err != nil || !slices.Equal(all, want) {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := Versions(filepath.Join(dir, "none", "tls.key")); err != nil || len(all) != 0 {
		t.Errorf("without a folder: %v, %v", all, err)
	}
}
