// Package seal closes bytes so that one key can open them, for what is on its way to the
// coordinator and for state at rest, with age (age-encryption.org/v1) and its native
// hybrid of ML-KEM-768 and X25519, which a quantum computer to come does not open either.
//
// What is sealed is bound to a context, such as the header of the message that it
// travels in, and padded to a size that everybody knows, so that its length says nothing.
// A seal does not say who made it: anybody who knows the recipient can make one. What
// must be authentic is signed as well. Nor is there forward secrecy: who gets the key
// opens what was sealed before, so a key serves one study and is then destroyed.
package seal

import (
	"bytes"
	"errors"
	"fmt"

	"filippo.io/age"

	"fedpvi/crypto/internal/wire"
)

const (
	// MaxSize is the largest padded payload in bytes.
	MaxSize = 1 << 30
	// MaxContext is the longest context in bytes.
	MaxContext = 4 << 10
)

// Reasons to refuse what is sealed. Their text never depends on it.
var (
	ErrForm = errors.New("not sealed in the form expected here: it was changed, cut, made for a key of another kind, or not sealed at all")
	ErrOpen = errors.New("sealed for another key, or changed")
	// ErrContext says that it was sealed for this key and for another place.
	ErrContext = errors.New("sealed for another message or file than the one it came in")
)

// Seal closes a payload of at most size bytes for a recipient. What comes out has
// SealedSize(len(context), size) bytes, whatever the payload. The context is not
// secret where it is used and is sealed along; Open wants the same.
//
// Sealing again gives other bytes: what must be sent twice the same is kept.
func Seal(to Recipient, context, payload []byte, size int) ([]byte, error) {
	if to.recipient == nil {
		return nil, errors.New("sealing for nobody: parse or make a recipient first")
	}
	if err := checkSizes(len(context), size); err != nil {
		return nil, err
	}
	if len(payload) > size {
		return nil, fmt.Errorf("a payload of %d bytes does not fit in the %d of its size", len(payload), size)
	}
	plain := wire.AppendBytes(make([]byte, 0, plainSize(len(context), size)), context)
	plain = wire.AppendBytes(plain, payload)
	plain = plain[:cap(plain)] // zeros
	defer clear(plain)

	var sealed bytes.Buffer
	sealed.Grow(SealedSize(len(context), size))
	w, err := age.Encrypt(&sealed, to.recipient)
	if err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	if _, err := w.Write(plain); err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	return sealed.Bytes(), nil
}

// Open returns the payload that was sealed for the key with this context and size. It
// compares the length before it reads anything, and returns nothing before the last
// byte is authenticated.
func (k *Key) Open(sealed, context []byte, size int) ([]byte, error) {
	from, src, err := k.decrypt(bytes.NewReader(sealed), int64(len(sealed)), context, size)
	if err != nil {
		return nil, err
	}
	plain := make([]byte, plainSize(len(context), size))
	if n, err := from.ReadAt(plain, 0); n < len(plain) {
		clear(plain)
		return nil, src.reason(err)
	}
	return unpack(plain, context, size)
}

func checkSizes(context, size int) error {
	if context > MaxContext {
		return fmt.Errorf("a context of %d bytes: at most %d, give a hash", context, MaxContext)
	}
	if size < 0 || size > MaxSize {
		return fmt.Errorf("a size of %d bytes: from 0 to %d can be sealed, in more than one piece if need be", size, MaxSize)
	}
	return nil
}

// plainSize is of the two lengths, the context, and the payload with its padding.
func plainSize(context, size int) int { return 4 + context + 4 + size }
