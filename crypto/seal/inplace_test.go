package seal

import (
	"bytes"
	"crypto/rand"
	"errors"
	"testing"
)

// What is opened in its own place is what is opened elsewhere, and what was changed is refused there, too,
// and leaves nothing of the payload.
func TestOpenInPlace(t *testing.T) {
	k := newKey(t)
	context := []byte("context")
	for _, size := range []int{0, 1, chunkSize - 20, chunkSize, 3*chunkSize + 5} {
		payload := make([]byte, size)
		rand.Read(payload)
		sealed, err := Seal(k.Recipient(), context, payload, size)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(sealed)
		changed[len(changed)-1] ^= 1
		if _, err := k.OpenInPlace(changed, context, size); !errors.Is(err, ErrOpen) {
			t.Errorf("%d bytes that were changed: %v", size, err)
		}
		if size > 100 && bytes.Contains(changed, payload[:100]) {
			t.Errorf("%d bytes that were changed leave their payload", size)
		}
		got, err := k.OpenInPlace(sealed, context, size)
		if err != nil || !bytes.Equal(got, payload) {
			t.Errorf("%d bytes are opened as %d, %v", size, len(got), err)
		}
	}
}
