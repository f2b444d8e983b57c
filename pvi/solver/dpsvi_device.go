package solver

import (
	"errors"
	"reflect"

	"fedpvi/dpmech"
	"fedpvi/gpu/cuda"
)

// An Accelerator is a device for the steps of [DPSVI], with options.
type Accelerator struct {
	Device cuda.Device
	// Selection is how batches are drawn: by an exact sampler on this machine, or by a Feistel
	// network on the device. It is not proven that a Feistel network makes all sets of records
	// equally likely.
	Selection dpmech.Selection
	// Gathering, if not nil, runs the steps of several clients together on the device.
	Gathering *cuda.Gathering
	// Tables, if not nil, keeps the records on the device between calls of Propose.
	Tables *cuda.Tables
	// Failed decides whether Propose continues after an error of the device. If it returns nil, the
	// CPU takes the failed steps, whose sums have not left the solver. Otherwise Propose returns
	// the error, and the steps stay charged.
	Failed func(error) error
}

type onDevice struct {
	Accelerator
	records cuda.Records
}

// On makes a device take the steps of all later calls to Propose. records holds the program's
// records for package cuda, with the program's share of the prior. m must cost the same as the
// solver's mechanism and draw batches in a way that the device supports. After an error nothing has
// changed.
//
// Records are on the device only during a call to Propose, unless a.Tables keeps them there. The
// device uses randomness in another order ([dpmech.Plan]), so a seed gives other noise than on the
// CPU.
func (s *DPSVI) On(a Accelerator, m *dpmech.SampledSum, records cuda.Records) error {
	cost, err := m.EventFor(1, m.Adjacency())
	if err != nil {
		return err
	}
	at := s.options.meanField(nil, nil, s.optimiser)
	if !reflect.DeepEqual(cost, s.cost) || m.Dim() != s.mechanism.Dim() || m.Records() != s.mechanism.Records() || m.Steps() != s.mechanism.Steps() {
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
	if a.Tables != nil {
		records = a.Tables.Keep(records)
	}
	s.mechanism, s.run, s.device = m, run, &onDevice{a, records}
	return nil
}

// visitOnDevice takes the steps of one call to Propose on the device, in plans of at most MaxPlan
// steps.
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

// stepsOnDevice takes steps on the device, or on the CPU if the device refuses or fails.
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
