//go:build emulator || cuda

package vae

import (
	"errors"
	"math"
	"slices"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/gpu/cuda"
)

// A faulty is a device that can skip kernels, change the words that are written to it, and fail.
// Before a kernel, it calls launch. If launch returns an error, the kernel does not run. The device
// then returns the error, unless it is errSkipped.
type faulty struct {
	cuda.Device
	memory map[uint64]bool
	launch func(kernel string) error
	write  func(words []uint64)
	free   func() error // called when memory is freed; its error is returned
}

var (
	errSkipped = errors.New("skipped")
	errBurns   = errors.New("it burns")
)

// skip returns a function for faulty.launch that makes the device skip a kernel.
func skip(kernel string) func(string) error {
	return func(name string) error {
		if name == kernel {
			return errSkipped
		}
		return nil
	}
}

func (f *faulty) Alloc(bytes int) (uint64, error) {
	p, err := f.Device.Alloc(bytes)
	if f.memory == nil {
		f.memory = map[uint64]bool{}
	}
	f.memory[p] = true
	return p, err
}

func (f *faulty) Free(memory uint64) error {
	delete(f.memory, memory)
	err := f.Device.Free(memory)
	if f.free != nil {
		err = errors.Join(f.free(), err)
	}
	return err
}

func (f *faulty) Write(memory uint64, words []uint64) error {
	if f.write != nil {
		words = slices.Clone(words)
		f.write(words)
	}
	return f.Device.Write(memory, words)
}

func (f *faulty) Launch(kernel string, blocks, threads, shared int, arguments ...uint64) error {
	if f.launch != nil {
		if err := f.launch(kernel); err == errSkipped {
			return nil
		} else if err != nil {
			return err
		}
	}
	return f.Device.Launch(kernel, blocks, threads, shared, arguments...)
}

// These are the positions, in a plan as it is written to the device, of the words that the tests
// change.
const (
	recordsWord = 1
	limitWord   = 6
	slackWord   = 9
	firstWord   = 10
	samplingKey = 14
	noiseKey    = 18
	layersWord  = 26
	planHead    = layersWord + 5*256
)

// onPlans returns a function for faulty.write. It calls change on the words of the scene's plans,
// and leaves all other data alone.
func (s scene) onPlans(change func(words []uint64)) func([]uint64) {
	return func(words []uint64) {
		if len(words) > planHead && words[0] <= 2 && words[recordsWord] == uint64(s.records) && words[2] == uint64(s.steps) {
			change(words)
		}
	}
}

// [scene.differences], which compares a device with the CPU, must find each of these faults: no
// clip, too large a clip, different noise, too little or no noise, different batches, and no update
// of the weights.
func TestDeviceFaultsAreSeen(t *testing.T) {
	s := scenes[3]
	for name, fault := range map[string]*faulty{
		"no clip":       {launch: skip("network_clip")},
		"a wider clip":  {write: s.onPlans(func(w []uint64) { w[limitWord] = math.Float64bits(1.01 * math.Float64frombits(w[limitWord])) })},
		"another noise": {write: s.onPlans(func(w []uint64) { w[noiseKey]++ })},
		"less noise": {write: s.onPlans(func(w []uint64) {
			for i := range 256 {
				w[layersWord+5*i] /= 2
			}
		})},
		"no noise":      {launch: skip("network_noise")},
		"another batch": {write: s.onPlans(func(w []uint64) { w[samplingKey]++ })},
		"no update":     {launch: skip("network_update")},
	} {
		fault.Device = devices[0]
		if err := s.differences(t, fault); err == nil {
			t.Errorf("%s: nothing is seen", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
	sound := &faulty{Device: devices[0]}
	if err := s.differences(t, sound); err != nil {
		t.Errorf("without a fault: %v", err)
	}
}

// The test increases the slack of a plan, which bounds the error of the noise density. The device
// then leaves some noise samples undecided. dpmech must decide them, and the device must compute
// the steps again with these decisions. The weights must have the same bits as if all samples had
// been decided. With a very large slack, the device must fail.
func TestDeviceLeavesSamplesOpen(t *testing.T) {
	s := scenes[3]
	take := func(d cuda.Device, tr *Trainer) error {
		s.attach(t, tr, d, true)
		for seed := range uint64(2) {
			if err := tr.TakePlan(s.plan(t, seed)); err != nil {
				return err
			}
		}
		tr.Sync()
		return nil
	}
	want := s.trainer(t)
	if err := take(devices[0], want); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		slack       uint64
		least, most int // smallest and largest allowed number of plans copied to the device
		taken       bool
	}{{1 << 33, 4, 12, true}, {1 << 61, 65, 65, false}} {
		plans, tr := 0, s.trainer(t)
		d := &faulty{Device: devices[0], write: s.onPlans(func(w []uint64) {
			w[slackWord] = c.slack
			plans++
		})}
		err := take(d, tr)
		var device *DeviceError
		if (err == nil) != c.taken || !c.taken && !errors.As(err, &device) || plans < c.least || plans > c.most {
			t.Errorf("slack %d: %v, after %d plans", c.slack, err, plans)
		}
		if c.taken && !slices.Equal(tr.network.flat(), want.network.flat()) {
			t.Error("other weights than where nothing is left open")
		}
	}
}

// If a device fails, the CPU must compute the steps with the same batches, noise and initial
// weights, and the device's memory must be freed.
func TestDeviceFails(t *testing.T) {
	s := scenes[3]
	want := s.trainer(t)
	for seed := range uint64(2) {
		if err := want.TakePlan(s.plan(t, seed)); err != nil {
			t.Fatal(err)
		}
	}
	fault := &faulty{Device: devices[0], launch: func(kernel string) error {
		if kernel == "network_clip" {
			return errBurns
		}
		return nil
	}}
	tr := s.trainer(t)
	s.attach(t, tr, fault, true)
	for seed := range uint64(2) {
		plan := s.plan(t, seed)
		err := tr.TakePlan(plan)
		var device *DeviceError
		if errors.As(err, &device) != (seed == 0) {
			t.Fatal(err)
		}
		if err != nil {
			if err := tr.TakePlan(plan); err == nil {
				t.Error("steps are taken that a device may have taken")
			}
			if err := tr.Detach(); err != nil {
				t.Fatal(err)
			}
			plan.Reclaim()
			if err := tr.TakePlan(plan); err != nil {
				t.Fatal(err)
			}
		}
		if err := plan.Put(0, nil); plan.Remaining() != 0 || err == nil {
			t.Errorf("%d steps are left", plan.Remaining())
		}
	}
	if !slices.Equal(tr.network.flat(), want.network.flat()) {
		t.Error("the processor has other weights than without a device")
	}
	if err := tr.Detach(); err != nil || len(fault.memory) > 0 {
		t.Errorf("%d pieces of memory are left, %v", len(fault.memory), err)
	}
}

// The device fails after it has computed the steps of a plan. If the CPU then computes the steps
// again, it must begin with the same weights as the device. Otherwise two different sums would be
// released with the same noise, and their difference would have no noise at all.
func TestDeviceFailsAfterTheSteps(t *testing.T) {
	s := scenes[3]
	want := s.trainer(t)
	tr := s.trainer(t)
	after := 1 // number of calls of Free before the failure
	s.attach(t, tr, &faulty{Device: devices[0], free: func() error {
		if after--; after == -1 {
			return errBurns
		}
		return nil
	}}, true)
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

// A device that has failed in the middle of a plan must be able to compute the plan again.
func TestDeviceTakesAPlanAgain(t *testing.T) {
	s := scenes[3]
	want, tr := s.trainer(t), s.trainer(t)
	s.attach(t, want, devices[0], true)
	steps := 0
	broken := &faulty{Device: devices[0], launch: func(kernel string) error {
		if kernel == "network_clip" {
			if steps++; steps == 3 {
				return errBurns
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

// Try, which tests a device before its use, must accept a correct device and find faulty kernels.
func TestDeviceIsTried(t *testing.T) {
	for _, d := range devices {
		if err := Try(d); err != nil {
			t.Error(err)
		}
	}
	for _, kernel := range []string{
		"network_load", "network_forward", "network_latent", "network_back", "network_clip", "network_noise", "network_update",
	} {
		f := &faulty{Device: devices[0], launch: skip(kernel)}
		if err := Try(f); err == nil || len(f.memory) > 0 {
			t.Errorf("without %s: %v, and %d pieces of memory are left", kernel, err, len(f.memory))
		}
	}
}

func TestDeviceRefuses(t *testing.T) {
	s := scenes[3]
	s.sampling = dpmech.WithoutReplacement{Batch: 12, Selection: dpmech.Feistel}
	tr := s.trainer(t)
	s.attach(t, tr, devices[0], true)
	other, fewer := s, s
	other.shape.Hidden++
	fewer.records--
	larger := s
	larger.sampling = poisson(0.3)
	moves := make([]float32, 2*s.steps)
	for name, plan := range map[string]*dpmech.ProductPlan{
		"other layers": other.plan(t, 1), "other records": fewer.plan(t, 1), "larger batches": larger.plan(t, 1),
	} {
		if err := tr.card.Take(plan, moves, nil); err == nil {
			t.Errorf("%s are taken", name)
		}
		if _, err := plan.Next(); err != nil {
			t.Errorf("%s: after a refusal: %v", name, err)
		}
	}
	if err := tr.card.Take(s.plan(t, 1), moves[1:], nil); err == nil {
		t.Error("steps without rates are taken")
	}
	for _, c := range []cuda.NetworkConfig{{}, {Pixels: 1, Hidden: 1, Latent: 1}, {Pixels: 1 << 20, Hidden: 1, Latent: 1, Batch: 1}} {
		if _, err := cuda.NewNetwork(devices[0], c, nil); err == nil {
			t.Errorf("a network of %+v", c)
		}
	}
}
