// Package secret holds bytes that a program can read only with the method Reveal, and cannot print,
// log or encode by accident.
package secret

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Hidden is the text that is printed instead of a secret.
const Hidden = "[secret]"

// ErrHidden is the error that every encoder receives for a secret.
var ErrHidden = errors.New("a secret cannot be encoded: call Reveal to get its bytes")

// A Secret contains bytes that formatting verbs, loggers and encoders do not show. The zero Secret
// is empty. Copies share the bytes: if one is wiped, all are.
type Secret struct {
	// bytes is a closure, because fmt cannot print the variables of a closure. A pointer would not
	// do: fmt does not call Format on an unexported field, and for some verbs it prints the value
	// behind a pointer.
	bytes func() []byte
}

// New returns a secret that contains b. The caller must not use b afterwards.
func New(b []byte) Secret { return Secret{func() []byte { return b }} }

// Random returns a secret of n bytes from the operating system's random source.
func Random(n int) Secret {
	b := make([]byte, n)
	rand.Read(b) // Read never returns an error, because crypto/rand aborts the program instead
	return New(b)
}

// Reveal returns the bytes without copying them. After Wipe the bytes are zero.
func (s Secret) Reveal() []byte {
	if s.bytes == nil {
		return nil
	}
	return s.bytes()
}

// Equal reports whether the secret is equal to b, in a time that depends only on the two lengths.
func (s Secret) Equal(b []byte) bool { return subtle.ConstantTimeCompare(s.Reveal(), b) == 1 }

// Wipe overwrites the bytes with zeros. Copies that the runtime or the CPU made earlier, for
// example during a garbage collection, remain.
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
