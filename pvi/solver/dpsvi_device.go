package solver

import (
	"errors"
	"reflect"

	"fedpvi/dpmech"
	"fedpvi/gpu/cuda"
)

// An Accelerator is a device that takes visits of [DPSVI].
type Accelerator struct {
	Device cuda.Device
	// Selection is how batches are drawn: exactly, by this machine, which lists them for the
	// device, or by the device itself, by the Feistel network. That all sets of records are then
	// equally likely is a conjecture.
	Selection dpmech.Selection
	// Gathering, if not nil, has visits taken together with those of others.
	Gathering *cuda.Gathering
	// Failed is told that the device could not take a visit, of which nobody has seen
	// anything. If it returns nil the processor takes the same steps; otherwise the
	// visit ends with what it returns, and its steps stay charged.
	Failed func(error) error
}

// onDevice is what [DPSVI] needs to have its visits taken by a device.
type onDevice struct {
	Accelerator
	records cuda.Records
}

// On has all later visits taken by a device, from the program's records as the device reads
// them, with the share of the prior that the program has, and by a mechanism whose batches it can have. The mechanism must state the same
// event as that with which the solver was made. Where the device does not have what the
// solver does, it says so, and nothing changes.
//
// Records are on the device while a visit lasts. Randomness comes in another order than
// without a device ([dpmech.Plan]): the same seed has other noise.
func (s *DPSVI) On(a Accelerator, m *dpmech.SampledSum, records cuda.Records) error {
	cost, err := m.EventFor(1, m.Adjacency())
	if err != nil {
		return err
	}
	at := s.options.meanField(nil, nil, s.optimiser)
	switch {
	case !reflect.DeepEqual(cost, s.cost) || m.Dim() != s.mechanism.Dim() || m.Records() != s.mechanism.Records() || m.Steps() != s.mechanism.Steps():
		return errors.New("dp-svi: the mechanism for a device is another one than that of the study")
	}
	if err := cuda.Supports(&at); err != nil {
		return err
	}
	if err := m.Plannable(); err != nil {
		return err
	}
	run, err := m.Resume(s.Taken())
	if err != nil {
		return err
	}
	s.mechanism, s.run, s.device = m, run, &onDevice{a, records}
	return nil
}

// visitOnDevice takes the steps of a visit on the device, in as many plans as that takes.
func (s *DPSVI) visitOnDevice() error {
	for left := s.options.Steps; left > 0; {
		steps := min(left, s.mechanism.MaxPlan())
		if err := s.stepsOnDevice(steps); err != nil {
			return err
		}
		left -= steps
	}
	return nil
}

// stepsOnDevice takes some steps on the device, or, where that leaves them or fails, here.
func (s *DPSVI) stepsOnDevice(steps int) error {
	plan, err := s.run.Plan(steps, &s.streams, &s.draws)
	if err != nil {
		return err
	}
	defer plan.Wipe()
	v := &cuda.Visit{Plan: plan, Run: s.visit, Options: s.under}
	if err := s.device.Gathering.Descend(s.device.Device, s.device.records, v); err != nil {
		if err := s.device.Failed(err); err != nil {
			return err
		}
	}
	if v.Taken {
		return nil
	}
	plan.Reclaim()
	s.normals = plan.Normals
	for range steps {
		if err := s.step(plan.Next); err != nil {
			return err
		}
	}
	return nil
}
