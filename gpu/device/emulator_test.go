//go:build emulator

package device

import (
	"testing"

	"fedpvi/gpu/cuda"
	"fedpvi/gpu/cuda/emulator"
)

// A wrong is a device whose memory returns wrong words.
type wrong struct {
	cuda.Device
	flip int // number of the bit that is wrong in a changed word
	word int // index of the changed word in every read that is long enough
}

func (w wrong) Read(words []uint64, memory uint64) error {
	err := w.Device.Read(words, memory)
	if err == nil && w.word < len(words) {
		words[w.word] ^= 1 << w.flip
	}
	return err
}

// Test must accept a device that runs the kernels correctly, and reject a device that gets one word
// in a thousand wrong.
func TestTheTest(t *testing.T) {
	d := &emulator.Device{}
	for range 3 {
		if err := Test(d); err != nil {
			t.Error(err)
		}
	}
	caught := 0
	for word := 20; word < 140; word++ {
		if Test(wrong{d, 61, word}) != nil {
			caught++
		}
	}
	if caught < 110 {
		t.Errorf("%d of 120 faults were found", caught)
	}
}
