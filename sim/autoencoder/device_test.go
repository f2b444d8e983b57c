//go:build emulator

package autoencoder

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/gpu/cuda/emulator"
	"fedpvi/gpu/device"
	"fedpvi/sim"
)

// A card is an emulated device that fails after a given number of launches. It counts the bytes
// that are allocated at the moment.
type card struct {
	emulator.Device
	launches, fails int
	memory          int
}

func (c *card) Alloc(bytes int) (uint64, error) { c.memory++; return c.Device.Alloc(bytes) }
func (c *card) Free(memory uint64) error        { c.memory--; return c.Device.Free(memory) }
func (c *card) Close() error                    { return nil }

func (c *card) Launch(kernel string, blocks, threads, shared int, arguments ...uint64) error {
	if c.launches++; c.fails > 0 && c.launches > c.fails {
		return errors.New("it burns")
	}
	return c.Device.Launch(kernel, blocks, threads, shared, arguments...)
}

// A socket is a source of devices. It contains one card.
type socket struct {
	*card
	demanded bool
}

func (s socket) Take() ([]device.Device, error, error) { return []device.Device{s.card}, nil, nil }
func (s socket) Demanded() bool                        { return s.demanded }
func (s socket) String() string                        { return "cuda:0" }

// playOn runs the tiny experiment on the card in s. It returns the result and the messages to the
// user.
func playOn(t *testing.T, s socket, settings ...string) (result *Result, said []string, err error) {
	t.Helper()
	spec, err := Load(filepath.Join(folder(t), "tiny.toml"), settings)
	if err != nil {
		t.Fatal(err)
	}
	run, err := New(spec, spec.Seed, 2)
	if err != nil {
		t.Fatal(err)
	}
	devices := sim.NewDevices(s, func(line string) { said = append(said, line) })
	if err = run.Use(devices); err == nil {
		result, err = run.Train(context.Background(), func(int, *Epoch) {})
	}
	if err := run.Close(); err != nil || s.memory != 0 {
		t.Errorf("%d pieces of memory are left, %v", s.memory, err)
	}
	return result, said, err
}

// A device must compute the same results as the CPU. If the device fails, the CPU must take over,
// unless the user requires the device.
func TestDevice(t *testing.T) {
	whole := new(card)
	for _, settings := range [][]string{nil, {NonPrivate}} {
		sound, said, err := playOn(t, socket{card: whole}, settings...)
		if err != nil || sound.ComputedOn != "emulated device" || len(said) != 1 || said[0] != "computing on emulated device" {
			t.Fatalf("error %v, computed on %q, messages %q", err, sound.ComputedOn, said)
		}
		if (sound.Privacy != nil) != (settings == nil) || len(sound.Epochs) != 3 {
			t.Errorf("the result is %+v", sound)
		}
		tried := new(card)
		if _, _, err := playOn(t, socket{card: tried}, append(settings, "training.epochs=1")...); err != nil {
			t.Fatal(err)
		}
		// The device computes one epoch per call. It fails in the second epoch, or in the self-test
		// before the first.
		for _, fails := range []int{tried.launches + 7, 5} {
			broken, said, err := playOn(t, socket{card: &card{fails: fails}}, settings...)
			if err != nil {
				t.Fatal(err)
			}
			if len(said) != 2 || !strings.Contains(said[1], "the processor takes over: ") || !strings.Contains(said[1], "it burns") {
				t.Errorf("said %q", said)
			}
			if late := fails > 5; late != (broken.ComputedOn == "emulated device, then the processor") {
				t.Errorf("computed on %q", broken.ComputedOn)
			} else if late && math.Abs(broken.TestLoss-sound.TestLoss) > 1e-3 {
				t.Errorf("loss %v on a device and %v on the processor", sound.TestLoss, broken.TestLoss)
			}
			if _, _, err := playOn(t, socket{&card{fails: fails}, true}, settings...); err == nil || !strings.Contains(err.Error(), "it burns") {
				t.Errorf("a device that is demanded fails: %v", err)
			}
		}
	}
}
