// Package canary looks for secrets in text, in every form in which Go can print a value.
package canary

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// verbs are the verbs of package fmt, with and without the flags that change the output.
var verbs = []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%o", "%b", "%c", "%U", "%T"}

// Shown returns all text in which Go could show a value: the output of fmt, encoding/json,
// encoding/gob and log/slog. Except for gob, it also shows a pointer, a struct, a slice and a map
// that contain the value.
func Shown(value any) string {
	var all strings.Builder
	nested := struct {
		Field  any
		hidden any
	}{value, value}
	for _, v := range []any{value, &value, nested, &nested, []any{value}, map[string]any{"key": value}} {
		for _, verb := range verbs {
			fmt.Fprintf(&all, verb+"\n", v)
		}
		encoded, err := json.Marshal(v)
		fmt.Fprintln(&all, string(encoded), err)
		for _, handler := range []slog.Handler{slog.NewTextHandler(&all, nil), slog.NewJSONHandler(&all, nil)} {
			slog.New(handler).With("with", v).Info("message", "value", v, slog.Group("group", "inner", v))
		}
	}
	var stream bytes.Buffer
	err := gob.NewEncoder(&stream).Encode(value)
	fmt.Fprintln(&all, stream.String(), err)
	return all.String()
}

// Absent fails the test if eight consecutive bytes of the secret occur in the text, as they are or
// in any encoding in which Go prints bytes.
func Absent(t testing.TB, text string, secret []byte) {
	t.Helper()
	const window = 8
	if len(secret) < window {
		t.Fatalf("a secret of %d bytes is too short to be recognised", len(secret))
	}
	text = strings.ToLower(text)
	for i := 0; i+window <= len(secret); i++ {
		part := secret[i : i+window]
		for name, form := range forms(part) {
			if strings.Contains(text, strings.ToLower(form)) {
				t.Fatalf("%d bytes of the secret are shown, as %s", window, name)
			}
		}
	}
}

// forms returns the encodings of part. It leaves out the last digits of base encodings, which
// depend on the bytes that follow.
func forms(part []byte) map[string]string {
	decimal := strings.Trim(fmt.Sprint(part), "[]")
	return map[string]string{
		"bytes":          string(part),
		"hex":            hex.EncodeToString(part),
		"spaced hex":     fmt.Sprintf("% x", part),
		"decimal":        decimal,
		"a list":         strings.ReplaceAll(decimal, " ", ","),
		"a spaced list":  strings.ReplaceAll(decimal, " ", ", "),
		"a Go literal":   strings.Trim(fmt.Sprintf("%#v", part), "[]byte{}"),
		"base64":         base64.RawStdEncoding.EncodeToString(part)[:10],
		"base64 for URL": base64.RawURLEncoding.EncodeToString(part)[:10],
		"base32":         base32.StdEncoding.EncodeToString(part)[:12],
	}
}
