// Package secret holds bytes that must stay secret. A program can read the bytes only with the
// method Reveal. It cannot print, log or encode them by accident.
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
// is empty. Copies of a Secret share the bytes. If one copy is wiped, all copies are.
type Secret struct {
	// bytes is a closure, because fmt cannot print the variables of a closure. A pointer would not
	// hide the bytes. The package fmt does not call the Format method of an unexported field, and
	// for some verbs it prints the value to which a pointer points.
	bytes func() []byte
}

// New returns a secret that contains b. The caller must not use b afterwards.
func New(b []byte) Secret { return Secret{func() []byte { return b }} }

// Random returns a secret of n bytes from the random source of the operating system.
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

// Equal reports whether the secret is equal to b. The time of the comparison depends only on the
// lengths of the secret and of b.
func (s Secret) Equal(b []byte) bool { return subtle.ConstantTimeCompare(s.Reveal(), b) == 1 }

// Wipe overwrites the bytes with zeros. It cannot overwrite copies that the runtime or the CPU
// made earlier, for example during a garbage collection or a context switch.
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
