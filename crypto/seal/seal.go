// Package seal encrypts bytes for one key. The result is called a seal. The program uses seals for
// clients' answers to the coordinator, and for state on disk. The encryption is age
// (age-encryption.org/v1) with age's own hybrid key exchange of ML-KEM-768 and X25519, which
// resists quantum computers.
//
// A seal can be opened only with the context that it was made for, such as the header of its
// message. The payload is padded to a public size, so that the length of the seal reveals nothing.
// A seal does not authenticate its sender: anyone who knows the recipient can make one, so messages
// that must be authentic are also signed. There is no forward secrecy: anyone who gets the key can
// open all earlier seals, so each key is used for only one study and then destroyed.
package seal

import (
	"bytes"
	"errors"
	"fmt"

	"filippo.io/age"

	"fedpvi/crypto/internal/wire"
)

const (
	// MaxSize is the maximum size of a padded payload in bytes.
	MaxSize = 1 << 30
	// MaxContext is the maximum length of a context in bytes.
	MaxContext = 4 << 10
)

// These are the errors of Open. Their texts do not depend on the seal's contents.
var (
	ErrForm = errors.New("not sealed in the form expected here: it was changed, cut, made for a key of another kind, or not sealed at all")
	ErrOpen = errors.New("sealed for another key, or changed")
	// ErrContext is returned if the seal was made for a different context.
	ErrContext = errors.New("sealed for another message or file than the one it came in")
)

// Seal encrypts a payload of at most size bytes for a recipient. The result always has
// SealedSize(len(context), size) bytes. The context need not be secret, but Open must be called
// with the same one.
//
// Each call returns different bytes. A caller that may have to send a message again must store
// them.
func Seal(to Recipient, context, payload []byte, size int) ([]byte, error) {
	if to.recipient == nil {
		return nil, errors.New("the recipient is missing: parse or make one first")
	}
	if err := checkSizes(len(context), size); err != nil {
		return nil, err
	}
	if len(payload) > size {
		return nil, fmt.Errorf("the payload has %d bytes, more than the size of %d", len(payload), size)
	}
	plain := wire.AppendBytes(make([]byte, 0, plainSize(len(context), size)), context)
	plain = wire.AppendBytes(plain, payload)
	plain = plain[:cap(plain)] // the padding is zeros
	defer clear(plain)

	var sealed bytes.Buffer
	sealed.Grow(SealedSize(len(context), size))
	w, err := age.Encrypt(&sealed, to.recipient)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	return sealed.Bytes(), nil
}

// Open decrypts a seal that was made for this key, context and size, and returns the payload. It
// checks the length of sealed before it decrypts anything. It returns the payload only if all bytes
// are authentic.
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
		return fmt.Errorf("the context has %d bytes, more than the limit of %d: give its hash", context, MaxContext)
	}
	if size < 0 || size > MaxSize {
		return fmt.Errorf("a size of %d bytes cannot be sealed: give 0 to %d, and seal a longer payload in several pieces", size, MaxSize)
	}
	return nil
}

// plainSize returns the total size in bytes of the context and the padded payload, each with its
// length.
func plainSize(context, size int) int { return 4 + context + 4 + size }
