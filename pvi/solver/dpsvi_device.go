package solver

import (
	"errors"
	"reflect"

	"fedpvi/dpmech"
	"fedpvi/gpu/cuda"
)

// An Accelerator is a device that takes the steps of [DPSVI], with the options for its use.
type Accelerator struct {
	Device cuda.Device
	// Selection is how batches are drawn: either this machine draws them with an exact sampler and
	// sends them to the device, or the device draws them with a Feistel network. That a Feistel
	// network makes all sets of records equally likely is not proven.
	Selection dpmech.Selection
	// Gathering, if not nil, runs the steps of several clients together on the device.
	Gathering *cuda.Gathering
	// Tables, if not nil, keeps the records on the device between calls of Propose.
	Tables *cuda.Tables
	// Failed decides whether a call to Propose continues after the device has failed with the given
	// error. The sums of the failed steps have not left the solver. If Failed returns nil, the CPU
	// takes the same steps. Otherwise Propose returns the error from Failed, and the steps stay
	// charged.
	Failed func(error) error
}

type onDevice struct {
	Accelerator
	records cuda.Records
}

// On makes a device take the steps of all later calls to Propose. records holds the program's
// records in the form that package cuda needs, with the program's share of the prior. m must have
// the same cost as the solver's mechanism, and must draw batches in a way that the device supports.
// If it does not, or if the device does not support the solver's options, On returns an error and
// changes nothing.
//
// Records are on the device only during a call to Propose, unless a.Tables keeps them there. The
// device uses randomness in a different order ([dpmech.Plan]), so the same seed gives different
// noise than on the CPU.
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

// visitOnDevice takes the steps of one call to Propose on the device. It divides them into plans,
// because a plan can have only as many steps as the mechanism's MaxPlan states.
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

// stepsOnDevice takes the given number of steps on the device. If the device refuses the steps or
// fails, the CPU takes them.
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
