package keyfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/internal/testing/canary"
	"fedpvi/internal/testing/memory"
)

// plain is the lock of a directory with unencrypted keys.
var plain *Lock

const kind = "fedpvi-test-key"

func count(n int) []byte {
	key := make([]byte, n)
	for i := range key {
		key[i] = byte(i)
	}
	return key
}

// known is a key file in version 1 of the format. Its third word was computed with Python's hashlib
// and base64.
const known = "# for tests\n# and for nothing else\n" +
	"fedpvi-test-key v1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8WoFfqttFWyw\n"

func TestFormatOfVersion1(t *testing.T) {
	if got := encode(kind, "for tests\nand for nothing else", count(32)); string(got) != known {
		t.Errorf("the format changed:\n%s", got)
	}
	if key, err := decode(kind, []byte(known)); err != nil || !bytes.Equal(key, count(32)) {
		t.Errorf("%x, %v", key, err)
	}
}

func TestCreatedKeyIsLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "test.key")
	key := count(32)
	check(t, plain.Create(path, kind, "a comment", key))
	if got, err := plain.Load(path, kind); err != nil || !got.Equal(key) {
		t.Errorf("%v", err)
	}
	if err := plain.Create(path, kind, "another", count(31)); err == nil {
		t.Error("a key was overwritten")
	}
	if _, err := plain.Load(path+"2", kind); err == nil {
		t.Error("a missing key file was loaded")
	}
	check(t, os.Chmod(path, 0o644))
	if _, err := plain.Load(path, kind); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key file that others may read: %v", err)
	}
	if err := plain.Create(path+"3", kind, "", make([]byte, maxKey+1)); err == nil {
		t.Error("a key that is too long was accepted")
	}
}

func TestMalformedFilesAreRefused(t *testing.T) {
	line := known[strings.Index(known, kind):]
	for name, text := range map[string]string{
		"empty":                 "",
		"comments only":         "# for tests\n",
		"an unended comment":    "# " + strings.TrimSuffix(line, "\n"),
		"no end of line":        strings.TrimSuffix(known, "\n"),
		"two lines":             known + line,
		"a comment after":       known + "# more\n",
		"an empty line first":   "\n" + line,
		"another kind":          strings.Replace(known, kind, "fedpvi-other-key", 1),
		"a later version":       strings.Replace(known, " v1 ", " v2 ", 1),
		"two words":             kind + " v1\n",
		"four words":            strings.Replace(known, "v1 ", "v1 more ", 1),
		"two spaces":            strings.Replace(known, "v1 ", "v1  ", 1),
		"a carriage return":     strings.Replace(known, "\n", "\r\n", 3),
		"one within the key":    strings.Replace(known, "AAEC", "AA\rEC", 1),
		"padding":               strings.Replace(known, "w\n", "w==\n", 1),
		"loose last bits":       strings.Replace(known, "w\n", "x\n", 1),
		"shorter than its sum":  kind + " v1 AAECAwQ\n",
		"no key":                kind + " v1 \n",
		"a key that is too big": kind + " v1 " + strings.Repeat("A", 2*maxKey) + "\n",
	} {
		if key, err := decode(kind, []byte(text)); err == nil {
			t.Errorf("%s: read as a key of %d bytes", name, len(key))
		}
	}
}

func TestEveryChangedBitIsDetected(t *testing.T) {
	start := strings.Index(known, kind)
	for i := start; i < len(known); i++ {
		for bit := range 8 {
			text := []byte(known)
			text[i] ^= 1 << bit
			if _, err := decode(kind, text); err == nil {
				t.Fatalf("the file was accepted with bit %d of byte %d changed", bit, i)
			}
		}
		if _, err := decode(kind, []byte(known[:i])); err == nil {
			t.Fatalf("the file was accepted without its last %d bytes", len(known)-i)
		}
	}
}

func TestErrorsDoNotShowKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "test.key")
	key := []byte("canary-7f3e9b52c8d1a604-yranac")
	check(t, plain.Create(path, kind, "a comment", key))
	text, err := os.ReadFile(path)
	check(t, err)
	for i := range text {
		damaged := bytes.Clone(text)
		damaged[i] ^= 1
		if _, err := decode(kind, damaged); err != nil {
			canary.Absent(t, canary.Shown(err), key)
		}
	}
	loaded, err := plain.Load(path, kind)
	check(t, err)
	canary.Absent(t, canary.Shown(loaded), key)
	_, err = plain.Load(path, "fedpvi-other-key")
	canary.Absent(t, canary.Shown(err), key)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(known))
	f.Add([]byte(kind + " v1 \n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		memory.Bound(t, len(text), func() { decode(kind, text) })
		key, err := decode(kind, text)
		if err != nil {
			return
		}
		again := encode(kind, "", key)
		if !bytes.HasSuffix(text, again) {
			t.Errorf("one key has two texts: %q and %q", text, again)
		}
	})
}
