//go:build emulator

package device

import (
	"testing"

	"fedpvi/gpu/cuda"
	"fedpvi/gpu/cuda/emulator"
)

// wrong is a device with a fault in what is read back.
type wrong struct {
	cuda.Device
	flip int // bit of every word
	word int // which word; 0 for none
}

func (w wrong) Read(words []uint64, memory uint64) error {
	err := w.Device.Read(words, memory)
	if err == nil && w.word < len(words) {
		words[w.word] ^= 1 << w.flip
	}
	return err
}

// The kernels pass, and a device that has one number of a thousand wrong does not.
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
