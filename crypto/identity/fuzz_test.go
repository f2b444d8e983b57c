package identity

import (
	"strings"
	"testing"

	"fedpvi/internal/testing/memory"
)

// FuzzText checks that each name, key, fingerprint and role has exactly one text form, and that
// names are safe in paths, logs and certificates.
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
			t.Errorf("%q was parsed as the name %q", text, n)
		}
		var print Fingerprint
		if print.UnmarshalText([]byte(text)) == nil && print.String() != text {
			t.Errorf("%q was parsed as the fingerprint %s", text, print)
		}
		var key PublicKey
		if key.UnmarshalText([]byte(text)) == nil && key.String() != text {
			t.Errorf("%q was parsed as the key %s", text, key)
		}
		if r, err := ParseRole(text); err == nil && r.String() != text {
			t.Errorf("%q was parsed as the role %s", text, r)
		}
	})
}
