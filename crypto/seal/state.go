package seal

import (
	"errors"
	"fmt"
	"math/bits"

	"fedpvi/crypto/internal/private"
)

// page is the smallest step to which the size of state at rest is rounded up, in bytes.
const page = 4 << 10

// WriteState seals state for the key's own recipient and replaces a file with it atomically. Only the
// owner can read the file. ReadState must be called with the same purpose, such as the
// name of the study and of the state.
//
// An older file that is put back opens again: state that must not be
// rolled back needs a sequence number that others witness.
func (k *Key) WriteState(path, purpose string, state []byte) error {
	sealed, err := k.SealState(purpose, state)
	if err != nil {
		return fmt.Errorf("state %s: %w", path, err)
	}
	return private.Replace(path, sealed)
}

// ReadState returns the state in a file that WriteState wrote for the same purpose. It
// refuses a file that others may read, more than limit bytes of state, and every change.
func (k *Key) ReadState(path, purpose string, limit int) ([]byte, error) {
	if err := checkSizes(len(purpose), limit); err != nil {
		return nil, err
	}
	sealed, err := private.Read(path, SealedSize(len(purpose), roundUp(limit)))
	if err != nil {
		return nil, err
	}
	state, err := k.OpenState(purpose, sealed)
	if err != nil {
		return nil, fmt.Errorf("state %s: %w", path, err)
	}
	return state, nil
}

// SealState seals state as WriteState does and returns the seal.
func (k *Key) SealState(purpose string, state []byte) ([]byte, error) {
	return Seal(k.Recipient(), []byte(purpose), state, roundUp(len(state)))
}

// OpenState returns the state that SealState sealed for the same purpose, and refuses every change.
func (k *Key) OpenState(purpose string, sealed []byte) ([]byte, error) {
	size, err := sizeOf(len(sealed), len(purpose))
	if err != nil {
		return nil, err
	}
	return k.Open(sealed, []byte(purpose), size)
}

// roundUp returns the padded size for n bytes of state: at most an eighth more,
// in steps so coarse that the padded size reveals little more than the order of magnitude.
func roundUp(n int) int {
	step := max(page, 1<<max(0, bits.Len(uint(n))-4))
	return (n + step - 1) / step * step
}

// sizeOf finds the size for which SealedSize gives sealed.
func sizeOf(sealed, context int) (int, error) {
	rest := sealed - chunksAt
	chunks := (rest + chunkSize + tagSize - 1) / (chunkSize + tagSize)
	size := rest - chunks*tagSize - plainSize(context, 0)
	if size < 0 || SealedSize(context, size) != sealed {
		return 0, errors.New("a file of this length was not sealed here: restore it from a backup")
	}
	return size, nil
}
