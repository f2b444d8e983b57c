//go:build emulator

package sim

import (
	"slices"
	"testing"

	"fedpvi/gpu/cuda/emulator"
	"fedpvi/gpu/device"
)

// emulated is a device that runs the kernels on the processor.
type emulated struct{ emulator.Device }

func (*emulated) Close() error { return nil }

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
