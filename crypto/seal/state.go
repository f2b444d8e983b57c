package seal

import (
	"errors"
	"fmt"
	"math/bits"

	"fedpvi/internal/private"
)

// page is a number of bytes. roundUp returns multiples of page.
const page = 4 << 10

// WriteState encrypts the state for the key's own recipient and atomically replaces the file at
// path with the encrypted state. Only the owner can read the file. purpose describes the content,
// for example by the names of the study and of the state. ReadState must be called with the same
// purpose.
//
// ReadState cannot detect that an older version of the file has replaced the newest one. A caller
// that must detect this needs a sequence number in the state that other parties know.
func (k *Key) WriteState(path, purpose string, state []byte) error {
	sealed, err := k.SealState(purpose, state)
	if err != nil {
		return fmt.Errorf("state %s: %w", path, err)
	}
	return private.Replace(path, sealed)
}

// ReadState returns the state in a file that WriteState wrote for the same purpose. It returns an
// error if other users can read the file, if the state has more than limit bytes, or if any byte
// was changed.
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

// SealState returns the bytes that WriteState would write.
func (k *Key) SealState(purpose string, state []byte) ([]byte, error) {
	return Seal(k.Recipient(), []byte(purpose), state, roundUp(len(state)))
}

// OpenState returns the state that SealState encrypted for the same purpose. If any byte was
// changed, it returns an error.
func (k *Key) OpenState(purpose string, sealed []byte) ([]byte, error) {
	size, err := sizeOf(len(sealed), len(purpose))
	if err != nil {
		return nil, err
	}
	return k.Open(sealed, []byte(purpose), size)
}

// roundUp returns the padded size for n bytes of state. From 32 KiB on, the padded size is a multiple
// of a power of two that is above n/16 and at most n/8. The padded size therefore reveals n only
// roughly, and exceeds n by at most an eighth.
func roundUp(n int) int {
	step := max(page, 1<<max(0, bits.Len(uint(n))-4))
	return (n + step - 1) / step * step
}

// sizeOf computes the padded size of a payload from the size of its seal (sealed) and the size of
// its context. It is the inverse of SealedSize.
func sizeOf(sealed, context int) (int, error) {
	rest := sealed - chunksAt
	chunks := (rest + chunkSize + tagSize - 1) / (chunkSize + tagSize)
	size := rest - chunks*tagSize - plainSize(context, 0)
	if size < 0 || SealedSize(context, size) != sealed {
		return 0, errors.New("a file of this length was not sealed here: restore it from a backup")
	}
	return size, nil
}
