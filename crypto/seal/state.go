package seal

import (
	"errors"
	"math/bits"
)

// page is the smallest padded size in bytes.
const page = 4 << 10

// SealState encrypts a state for the key's own recipient. purpose says what it is, for example the
// study and the kind of state. OpenState must be called with the same purpose. It does not notice
// if an older state is put in place of the newest.
func (k *Key) SealState(purpose string, state []byte) ([]byte, error) {
	return Seal(k.Recipient(), []byte(purpose), state, roundUp(len(state)))
}

// OpenState decrypts a state that SealState encrypted for the same purpose. If any byte was
// changed, it returns an error.
func (k *Key) OpenState(purpose string, sealed []byte) ([]byte, error) {
	size, err := sizeOf(len(sealed), len(purpose))
	if err != nil {
		return nil, err
	}
	return k.Open(sealed, []byte(purpose), size)
}

// roundUp returns the padded size for n bytes of state. From 32 KiB on, this is a multiple of a
// power of two that is larger than n/16 and at most n/8. It reveals n only roughly, and exceeds n
// by at most an eighth.
func roundUp(n int) int {
	step := max(page, 1<<max(0, bits.Len(uint(n))-4))
	return (n + step - 1) / step * step
}

// sizeOf is the inverse of SealedSize.
func sizeOf(sealed, context int) (int, error) {
	rest := sealed - chunksAt
	chunks := (rest + chunkSize + tagSize - 1) / (chunkSize + tagSize)
	size := rest - chunks*tagSize - plainSize(context, 0)
	if size < 0 || SealedSize(context, size) != sealed {
		return 0, errors.New("a file of this length was not sealed here: restore it from a backup")
	}
	return size, nil
}
