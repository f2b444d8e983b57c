package canary

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"testing"
)

// recorder is a testing.TB that records a failure. It is for checks that must fail.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Fatalf(string, ...any) { r.failed = true }

func TestCanariesAreFound(t *testing.T) {
	secret := []byte("\x00\x01canary\xfe\xff-0123456789-\xaa\xbb\xcc\xdd\xee")
	for name, text := range map[string]string{
		"as it is": "before " + string(secret) + " after",
		"in part":  string(secret[5:14]),
		"hex":      hex.EncodeToString(secret),
		"upper":    fmt.Sprintf("%X", secret),
		"spaced":   fmt.Sprintf("% x", secret),
		"decimal":  fmt.Sprint(secret),
		"literal":  fmt.Sprintf("%#v", secret),
		"base64":   base64.StdEncoding.EncodeToString(secret),
		"base64 u": base64.RawURLEncoding.EncodeToString(secret),
		"base32":   base32.StdEncoding.EncodeToString(secret),
	} {
		r := &recorder{TB: t}
		if Absent(r, text, secret); !r.failed {
			t.Errorf("%s: not found", name)
		}
	}
	Absent(t, "nothing of it: 0123456 canar", secret)
}

func TestPlainBytesAreShown(t *testing.T) {
	secret := []byte("a secret that nobody hides")
	for _, value := range []any{secret, &secret, struct{ Key []byte }{secret}, struct{ key []byte }{secret}} {
		r := &recorder{TB: t}
		if Absent(r, Shown(value), secret); !r.failed {
			t.Errorf("%T: not found", value)
		}
	}
}
