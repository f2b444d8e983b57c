//go:build emulator || cuda

package vae

import (
	"errors"
	"slices"
	"testing"

	"fedpvi/gpu/cuda"
)

// An unfree is a device that computes the steps of a plan correctly, but returns an error when
// memory is freed afterwards.
type unfree struct {
	cuda.Device
	after int // number of calls to Free before the failure
}

func (u *unfree) Free(memory uint64) error {
	if u.after--; u.after == -1 {
		return errors.Join(errors.New("it burns"), u.Device.Free(memory))
	}
	return u.Device.Free(memory)
}

// The test lets a device fail after it has computed the steps of a plan. If the CPU then
// computes the steps again, it must begin with the same weights as the device. With other
// weights, two different sums would be released with the same noise, and their difference would
// have no noise.
func TestDeviceFailsAfterTheSteps(t *testing.T) {
	s := scenes[3]
	want := s.trainer(t)
	tr := s.trainer(t)
	s.attach(t, tr, &unfree{Device: devices[0], after: 1}, true)
	for seed := range uint64(2) {
		if err := want.TakePlan(s.plan(t, seed)); err != nil {
			t.Fatal(err)
		}
		plan := s.plan(t, seed)
		err := tr.TakePlan(plan)
		if (err != nil) != (seed == 1) {
			t.Fatal(err)
		}
		if err == nil {
			continue
		}
		if err := tr.Detach(); err != nil {
			t.Fatal(err)
		}
		plan.Reclaim()
		if err := tr.TakePlan(plan); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := tr.network.flat(), want.network.flat(); !slices.EqualFunc(got, want, func(a, b float64) bool { return a-b < 1e-4 && b-a < 1e-4 }) {
		t.Error("the processor did not begin where the device began")
	}
}

// The test checks that a device that failed in the middle of a plan can compute the plan again.
func TestDeviceTakesAPlanAgain(t *testing.T) {
	s := scenes[3]
	want, tr := s.trainer(t), s.trainer(t)
	s.attach(t, want, devices[0], true)
	steps := 0
	broken := &breaking{Device: devices[0], launch: func(kernel string) error {
		if kernel == "network_clip" {
			if steps++; steps == 3 {
				return errors.New("it burns")
			}
		}
		return nil
	}}
	s.attach(t, tr, broken, true)
	plan := s.plan(t, 1)
	if err := tr.TakePlan(plan); err == nil {
		t.Fatal("no error")
	}
	plan.Reclaim()
	for _, err := range []error{tr.TakePlan(plan), want.TakePlan(s.plan(t, 1))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	tr.Sync()
	want.Sync()
	if !slices.Equal(tr.network.flat(), want.network.flat()) {
		t.Error("the device did not begin where it began")
	}
}

// A breaking is a device that fails at a given launch.
type breaking struct {
	cuda.Device
	launch func(kernel string) error
}

func (b *breaking) Launch(kernel string, blocks, threads, shared int, arguments ...uint64) error {
	if b.launch != nil {
		if err := b.launch(kernel); err != nil {
			return err
		}
	}
	return b.Device.Launch(kernel, blocks, threads, shared, arguments...)
}
