//go:build emulator

package sim

import (
	"slices"
	"sync"
	"testing"

	"fedpvi/gpu/cuda/emulator"
	"fedpvi/gpu/device"
)

// emulated is a device whose kernels run on the CPU.
type emulated struct{ emulator.Device }

func (*emulated) Close() error { return nil }

// counted is a device that counts the problems in each launch.
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

// In each round, a device must compute the steps of all its clients with one launch.
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

// Federations that run at the same time must find the same posteriors as federations that run
// alone.
func TestFederationsShareLaunches(t *testing.T) {
	st := parse(t, "s.toml", deviceStudy)
	play := func(devices *Devices, seed uint64) ([]float64, error) {
		p, err := NewPlay(st, Options{Seed: seed})
		if err == nil {
			err = devices.Use(p.Federation, 0, 1)
		}
		if err == nil {
			_, err = p.Run(t.Context(), func(Status) error { return nil })
		}
		if err != nil {
			return nil, err
		}
		return slices.Clone(p.Posterior()), nil
	}
	on := func() *Devices {
		return NewDevices(&source{devices: []device.Device{new(counted)}}, func(string) {})
	}
	const runs = 4
	var all sync.WaitGroup
	together, errs, shared := make([][]float64, runs), make([]error, runs), on()
	for i := range runs {
		all.Go(func() { together[i], errs[i] = play(shared, uint64(i)) })
	}
	all.Wait()
	for i, got := range together {
		alone, err := play(on(), uint64(i))
		if err != nil || errs[i] != nil || !slices.Equal(got, alone) {
			t.Errorf("seed %d: posterior %v, want %v as in a run alone (errors %v, %v)", i, got, alone, errs[i], err)
		}
	}
}

// Posteriors that devices compute must agree with the CPU's, up to rounding.
func TestFederationOnDevices(t *testing.T) {
	on := func(workers int, devices ...device.Device) []float64 {
		p, r, said, err := playOn(t, &source{devices: devices}, workers)
		if err != nil || r.Accepted != 3 || len(said) < 1 {
			t.Fatalf("error %v, messages %q", err, said)
		}
		return slices.Clone(p.Posterior())
	}
	one, two := on(1, new(emulated)), on(2, new(emulated), new(emulated))
	if !slices.Equal(one, two) {
		t.Errorf("on one device %v, on two %v", one, two)
	}
	for i, x := range on(1, new(gone)) { // all devices fail, so the CPU computes the steps
		if off := (one[i] - x) / (1 + max(x, -x)); !(off < 1e-6 && off > -1e-6) {
			t.Errorf("λ[%d] = %g, by the processor %g", i, one[i], x)
		}
	}
}
