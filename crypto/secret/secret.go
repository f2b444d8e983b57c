// Package secret keeps bytes that only the method Reveal returns, so that a program cannot print,
// log or encode them by accident.
package secret

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Hidden is printed instead of a secret.
const Hidden = "[secret]"

// ErrHidden is the error that an encoder gets for a secret.
var ErrHidden = errors.New("a secret cannot be encoded: call Reveal to get its bytes")

// A Secret has bytes that formatting verbs, loggers and encoders do not show. The zero Secret is
// empty. Copies share the same bytes, so if one is wiped, all are.
type Secret struct {
	// bytes is a closure, because fmt cannot print the variables of a closure. A pointer would not
	// be safe: fmt does not call Format on an unexported field, and some verbs print the value that
	// a pointer points to.
	bytes func() []byte
}

// New returns a secret with the bytes b. The caller must not use b afterwards.
func New(b []byte) Secret { return Secret{func() []byte { return b }} }

// Random returns a secret of n random bytes from the operating system.
func Random(n int) Secret {
	b := make([]byte, n)
	rand.Read(b) // Read never returns an error: if it fails, crypto/rand aborts the program
	return New(b)
}

// Reveal returns the bytes without copying them. After Wipe, they are zero.
func (s Secret) Reveal() []byte {
	if s.bytes == nil {
		return nil
	}
	return s.bytes()
}

// Equal reports whether the secret is equal to b. The time that it takes depends only on the two
// lengths.
func (s Secret) Equal(b []byte) bool { return subtle.ConstantTimeCompare(s.Reveal(), b) == 1 }

// Wipe overwrites the bytes with zeros. It does not reach copies that the runtime or the CPU has
// made earlier, for example during a garbage collection.
func (s Secret) Wipe() { clear(s.Reveal()) }

// Format prints Hidden for every verb and flag.
func (Secret) Format(f fmt.State, _ rune) { io.WriteString(f, Hidden) }

// String returns Hidden.
func (Secret) String() string { return Hidden }

// GoString returns Hidden.
func (Secret) GoString() string { return Hidden }

// LogValue returns Hidden.
func (Secret) LogValue() slog.Value { return slog.StringValue(Hidden) }

// MarshalJSON returns ErrHidden.
func (Secret) MarshalJSON() ([]byte, error) { return nil, ErrHidden }

// MarshalText returns ErrHidden.
func (Secret) MarshalText() ([]byte, error) { return nil, ErrHidden }

// MarshalBinary returns ErrHidden. Package encoding/gob calls this method too.
func (Secret) MarshalBinary() ([]byte, error) { return nil, ErrHidden }
