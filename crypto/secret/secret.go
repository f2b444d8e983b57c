// Package secret holds bytes that must not be seen: they can be used where they are
// asked for by name, and nowhere be printed, logged or encoded by accident.
package secret

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Hidden is what is seen of a secret.
const Hidden = "[secret]"

// ErrHidden is the answer to every encoder.
var ErrHidden = errors.New("a secret is not encoded: ask for its bytes where they are needed")

// A Secret is a string of bytes that no formatting verb, logger or encoder shows. The
// zero Secret is empty. Copies share the bytes, and are wiped together.
type Secret struct {
	// Inside a function no printer finds them. A pointer is not enough: in a field
	// whose methods it may not call, fmt follows it for a verb that does not fit.
	bytes func() []byte
}

// New makes a secret of b and owns it from then on.
func New(b []byte) Secret { return Secret{func() []byte { return b }} }

// Random makes a secret of n bytes from the random source of the operating system.
func Random(n int) Secret {
	b := make([]byte, n)
	rand.Read(b) // never fails: crypto/rand aborts the program instead
	return New(b)
}

// Reveal returns the bytes, not a copy. They are zeros after Wipe.
func (s Secret) Reveal() []byte {
	if s.bytes == nil {
		return nil
	}
	return s.bytes()
}

// Equal compares with b in a time that depends on the lengths only.
func (s Secret) Equal(b []byte) bool { return subtle.ConstantTimeCompare(s.Reveal(), b) == 1 }

// Wipe overwrites the bytes with zeros. What the runtime or the processor copied
// before, for a collection or a context switch, is out of its reach.
func (s Secret) Wipe() { clear(s.Reveal()) }

// Format prints Hidden for every verb and flag.
func (Secret) Format(f fmt.State, _ rune) { io.WriteString(f, Hidden) }

// String returns Hidden.
func (Secret) String() string { return Hidden }

// GoString returns Hidden.
func (Secret) GoString() string { return Hidden }

// LogValue logs Hidden.
func (Secret) LogValue() slog.Value { return slog.StringValue(Hidden) }

// MarshalJSON returns ErrHidden.
func (Secret) MarshalJSON() ([]byte, error) { return nil, ErrHidden }

// MarshalText returns ErrHidden.
func (Secret) MarshalText() ([]byte, error) { return nil, ErrHidden }

// MarshalBinary returns ErrHidden, to gob as well.
func (Secret) MarshalBinary() ([]byte, error) { return nil, ErrHidden }
