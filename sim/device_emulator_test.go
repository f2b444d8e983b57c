//go:build emulator

package sim

import (
	"slices"
	"sync"
	"testing"

	"fedpvi/gpu/cuda/emulator"
	"fedpvi/gpu/device"
)

// emulated is a device that runs the kernels on the processor.
type emulated struct{ emulator.Device }

func (*emulated) Close() error { return nil }

// counted remembers how many problems launches have.
type counted struct {
	emulated
	mutex    sync.Mutex
	problems []int
}

func (c *counted) Launch(kernel string, blocks, threads, shared int, arguments ...uint64) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.problems = append(c.problems, blocks)
	return c.emulated.Launch(kernel, blocks, threads, shared, arguments...)
}

// The clients of a round are one launch on each device, whatever the number of workers.
func TestARoundIsOneLaunch(t *testing.T) {
	for _, workers := range []int{1, 2} {
		a, b := new(counted), new(counted)
		if _, _, _, err := playOn(t, &source{devices: []device.Device{a, b}}, workers); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.problems, []int{2, 2, 2}) || !slices.Equal(b.problems, []int{1, 1, 1}) {
			t.Errorf("%d workers: launches of %v and %v problems, want 2 and 1 in each of three rounds", workers, a.problems, b.problems)
		}
	}
}

// A federation whose clients compute on devices comes to the posterior to which it comes
// where the processor takes the same steps, to rounding, with any number of workers.
func TestAFederationOnDevices(t *testing.T) {
	on := func(workers int, devices ...device.Device) []float64 {
		p, r, said, err := playOn(t, &source{devices: devices}, workers)
		if err != nil || r.Accepted != 3 || len(said) < 1 {
			t.Fatalf("%v, said %q", err, said)
		}
		return slices.Clone(p.Posterior())
	}
	one, two := on(1, new(emulated)), on(2, new(emulated), new(emulated))
	if !slices.Equal(one, two) {
		t.Errorf("on one device %v, on two %v", one, two)
	}
	for i, x := range on(1, new(gone)) { // where the processor takes the same steps over
		if off := (one[i] - x) / (1 + max(x, -x)); !(off < 1e-6 && off > -1e-6) {
			t.Errorf("λ[%d] = %g, by the processor %g", i, one[i], x)
		}
	}
}
