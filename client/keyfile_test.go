package client_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"fedpvi/client"
)

func TestDamagedKeyFileHasItsCode(t *testing.T) {
	_, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p := all[0]
	p.mustStep()
	paths, err := filepath.Glob(filepath.Join(p.dir, "*.key"))
	check(t, err)
	ofStudy, err := filepath.Glob(filepath.Join(p.dir, "studies", "*", "*.key"))
	check(t, err)
	if paths = append(paths, ofStudy...); len(paths) != 4 {
		t.Fatalf("the key files are %v", paths)
	}
	for _, path := range paths {
		whole, err := os.ReadFile(path)
		check(t, err)
		stops := func(name string) {
			c, err := client.Open(client.Options{Dir: p.dir, Create: true})
			if err == nil {
				_, err = c.Member("")
				check(t, c.Close())
			}
			if client.CodeOf(err) != client.Damaged {
				t.Errorf("%s, %s: code %d, %v", filepath.Base(path), name, client.CodeOf(err), err)
			}
		}
		for name, damaged := range map[string][]byte{
			"a character": append(bytes.Clone(whole[:len(whole)-3]), whole[len(whole)-3]^1, whole[len(whole)-2], '\n'),
			"cut":         whole[:len(whole)-9],
			"empty":       nil,
			"another":     bytes.Replace(whole, []byte("\nfedpvi-"), []byte("\nfedpvi-other-"), 1),
		} {
			check(t, os.WriteFile(path, damaged, 0o600))
			stops(name)
		}
		check(t, os.Remove(path))
		stops("lost")
		check(t, os.WriteFile(path, whole, 0o600))
	}
	if _, err := p.step(); err != nil {
		t.Errorf("with whole key files: %v", err)
	}
}
