//go:build emulator

package solver

import (
	"errors"
	"math"
	"slices"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/gpu/cuda/emulator"
)

// An emulated device computes the same proposal and state as the CPU.
func TestVisitsOnADevice(t *testing.T) {
	for _, c := range onDeviceCases {
		got, events, state := c.visits(t, Accelerator{Device: &emulator.Device{}, Failed: func(err error) error { return err }})
		again, _, _ := c.visits(t, Accelerator{Device: &emulator.Device{Order: emulator.Backward}, Failed: func(err error) error { return err }})
		want, _, kept := c.visits(t, Accelerator{Device: broken{"launch"}, Failed: func(error) error { return nil }})
		if e := far(got, want); !(e < 1e-9) || len(events) != 60 || len(state) != len(kept) {
			t.Errorf("%+v: the proposal differs by %g from the CPU's, with %d events", c, e, len(events))
		}
		if !slices.Equal(got, again) {
			t.Errorf("%+v: another result the second time", c)
		}
	}
}

// A solver that is restored continues its visits on a device.
func TestARestoredVisitOnADevice(t *testing.T) {
	c := onDeviceCases[0]
	a := Accelerator{Device: &emulator.Device{}, Failed: func(err error) error { return errors.Join(errors.New("failed"), err) }}
	s, other := c.solver(t, a), c.solver(t, a)
	first, second, want := make([]float64, 2*c.dim), make([]float64, 2*c.dim), make([]float64, 2*c.dim)
	src := seeded.Stream(4, "device")
	if _, err := s.Propose(first, standard(c.dim), src); err != nil {
		t.Fatal(err)
	}
	if err := other.Restore(s.State()); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Propose(second, standard(c.dim), seeded.Stream(4, "device")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Propose(want, standard(c.dim), seeded.Stream(4, "device")); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(second, want) || other.Taken() != 60 {
		t.Errorf("after restoring: %v, want %v", second, want)
	}
}

func far(a, b []float64) (most float64) {
	for i, x := range a {
		most = max(most, math.Abs(x-b[i])/(1+math.Abs(x)))
	}
	return most
}
