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
	// Selection is the way batches are drawn: exactly, by this machine, which lists them
	// for the device; or by the device itself, by the Feistel network. That the Feistel
	// network makes all sets of records equally likely is a conjecture.
	Selection dpmech.Selection
	// Gathering, if not nil, lets the device take visits of several clients together.
	Gathering *cuda.Gathering
	// Failed is called when the device could not take a visit, whose releases nobody has
	// seen. If it returns nil, the processor takes the same steps. Otherwise the visit ends
	// with the error, and its steps stay charged.
	Failed func(error) error
}

// onDevice has the fields that a DPSVI with a device needs.
type onDevice struct {
	Accelerator
	records cuda.Records
}

// On makes a device take all later visits. records are the program's records in the form
// for the device, with the program's share of the prior. m is a mechanism whose batches the
// device can draw; it must state the same event as the solver's mechanism. If the device
// does not support the solver's options, On returns an error and changes nothing.
//
// Records are on the device only during a visit. The device uses randomness in another
// order ([dpmech.Plan]), so the same seed gives other noise.
func (s *DPSVI) On(a Accelerator, m *dpmech.SampledSum, records cuda.Records) error {
	cost, err := m.EventFor(1, m.Adjacency())
	if err != nil {
		return err
	}
	at := s.options.meanField(nil, nil, s.optimiser)
	switch {
	case !reflect.DeepEqual(cost, s.cost) || m.Dim() != s.mechanism.Dim() || m.Records() != s.mechanism.Records() || m.Steps() != s.mechanism.Steps():
		return errors.New("dp-svi: the mechanism for the device is not the study's")
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

// visitOnDevice takes the steps of a visit on the device, in as many plans as they need.
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

// stepsOnDevice takes some steps on the device, or on the processor if the device declines
// or fails.
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
