package identity

import (
	"strings"
	"testing"

	"fedpvi/internal/testing/memory"
)

// Names, keys and fingerprints are read in the one form in which they are written, and a
// name is fit for a path, a log and a certificate.
func FuzzText(f *testing.F) {
	for _, text := range []string{"north", "a--b", "clinic-1", strings.Repeat("0f", 32), "../north", "north\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		memory.Bound(t, len(text), func() {
			ParseName(text)
			ParseRole(text)
			ParsePublicKey([]byte(text))
		})
		if n, err := ParseName(text); err == nil && (string(n) != text || len(n) > MaxName || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-") != "") {
			t.Errorf("%q is taken for the name %q", text, n)
		}
		var print Fingerprint
		if print.UnmarshalText([]byte(text)) == nil && print.String() != text {
			t.Errorf("%q is taken for the fingerprint %s", text, print)
		}
		var key PublicKey
		if key.UnmarshalText([]byte(text)) == nil && key.String() != text {
			t.Errorf("%q is taken for the key %s", text, key)
		}
		if r, err := ParseRole(text); err == nil && r.String() != text {
			t.Errorf("%q is taken for the role %s", text, r)
		}
	})
}
