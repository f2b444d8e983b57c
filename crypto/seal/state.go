package seal

import (
	"errors"
	"fmt"
	"math/bits"

	"fedpvi/crypto/internal/private"
)

// page is what the size of state at rest is rounded up to, at least.
const page = 4 << 10

// WriteState seals state for the key's own recipient and puts it in a file in the place
// of what was there, for its owner alone, all of it or nothing. The purpose, such as the
// name of the study and of the state, is what ReadState must ask for.
//
// A file that was sealed before opens again when somebody puts it back: what must not be
// rolled back has a sequence that others witness.
func (k *Key) WriteState(path, purpose string, state []byte) error {
	sealed, err := k.SealState(purpose, state)
	if err != nil {
		return fmt.Errorf("state %s: %w", path, err)
	}
	return private.Replace(path, sealed)
}

// ReadState returns the state in a file that WriteState wrote for the same purpose. It
// refuses what others may read, files of more than limit bytes of state, and every change.
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

// SealState seals state as WriteState does, for who keeps it elsewhere than in a file.
func (k *Key) SealState(purpose string, state []byte) ([]byte, error) {
	return Seal(k.Recipient(), []byte(purpose), state, roundUp(len(state)))
}

// OpenState returns what SealState sealed for the same purpose, and refuses every change.
func (k *Key) OpenState(purpose string, sealed []byte) ([]byte, error) {
	size, err := sizeOf(len(sealed), len(purpose))
	if err != nil {
		return nil, err
	}
	return k.Open(sealed, []byte(purpose), size)
}

// roundUp returns the size of the padding for n bytes of state: at most an eighth more,
// in steps so coarse that of the length little more than its order of magnitude shows.
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
