package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"fedpvi/internal/testing/canary"
)

// On unexported fields, fmt cannot call methods.
type holder struct {
	hidden Secret
	Shown  Secret
	inside struct{ deeper []Secret }
}

//abuse:case A17 formatting verbs do not show a secret
func TestSecretsAreNotShown(t *testing.T) {
	canaryBytes := []byte("canary-7f3e9b52c8d1a604-yranac")
	s := New(bytes.Clone(canaryBytes))
	h := holder{hidden: s, Shown: s}
	h.inside.deeper = []Secret{s}
	for _, value := range []any{s, &s, h, &h, []Secret{s}, map[string]Secret{"k": s}, [2]Secret{s, s}} {
		canary.Absent(t, canary.Shown(value), canaryBytes)
	}
	if s.String() != Hidden || s.GoString() != Hidden || s.LogValue().String() != Hidden {
		t.Error("a secret does not print as Hidden")
	}
	if !bytes.Equal(s.Reveal(), canaryBytes) {
		t.Error("Reveal does not return the bytes")
	}
}

func TestSecretsAreNotEncoded(t *testing.T) {
	s := New([]byte("x"))
	if _, err := json.Marshal(s); !errors.Is(err, ErrHidden) {
		t.Errorf("json: %v", err)
	}
	if _, err := s.MarshalText(); !errors.Is(err, ErrHidden) {
		t.Errorf("text: %v", err)
	}
	if _, err := s.MarshalBinary(); !errors.Is(err, ErrHidden) {
		t.Errorf("binary: %v", err)
	}
}

func TestSecretsAreWiped(t *testing.T) {
	b := []byte{1, 2, 3}
	s := New(b)
	c := s
	if !s.Equal([]byte{1, 2, 3}) || s.Equal([]byte{1, 2, 4}) || s.Equal([]byte{1, 2}) {
		t.Error("Equal is wrong")
	}
	c.Wipe()
	if !bytes.Equal(b, make([]byte, 3)) || !s.Equal(make([]byte, 3)) {
		t.Error("the bytes are not zeros after Wipe")
	}
	var zero Secret
	zero.Wipe()
	if len(zero.Reveal()) != 0 || !zero.Equal(nil) {
		t.Error("the zero secret is not empty")
	}
}

func TestRandomSecretsDiffer(t *testing.T) {
	a, b := Random(32), Random(32)
	if len(a.Reveal()) != 32 || a.Equal(b.Reveal()) || a.Equal(make([]byte, 32)) {
		t.Error("random secrets are equal, zero or of the wrong length")
	}
}
