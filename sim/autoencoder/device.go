package autoencoder

import (
	"errors"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu/vae"
	"fedpvi/sim"
)

// mostPlanned is the maximum number of steps that a device computes in one call. Only between calls
// can the user see progress.
const mostPlanned = 512

// onDevice is the part of a run that computes steps on a device. plan draws the batches and the
// noise of the next steps on the CPU.
type onDevice struct {
	name   string
	failed func(error) error
	plan   func(steps int) (vae.Planned, error)
}

// Use makes the first device, if there is one, compute all steps. The privacy cost stays the same,
// because the CPU draws the batches in any case, but the random numbers differ.
func (r *Run) Use(devices *sim.Devices) error {
	found, err := devices.For(r.unfit())
	if err != nil || len(found) == 0 {
		return err
	}
	d := found[0]
	sampler, err := dpmech.Poisson{Rate: r.Spec.Rate()}.Sampler(len(r.train.Pixels))
	if err != nil {
		return err
	}
	err = vae.Try(d)
	if err == nil {
		err = r.trainer.Attach(d, r.Spec.Privacy != nil, max(1, sampler.MaxBatch()))
	}
	if err != nil {
		return devices.Failed(err)
	}
	plan, err := r.planner()
	if err != nil {
		return err
	}
	r.device = &onDevice{d.Name(), devices.Failed, plan}
	return nil
}

// unfit returns an error if no device can compute the steps of the run.
func (r *Run) unfit() error {
	if r.Spec.Privacy == nil {
		return nil
	}
	m, err := r.Spec.mechanism(r.network.Pixels, r.Spec.Records)
	if err != nil {
		return err
	}
	return m.Plannable()
}

// planner returns a function that draws the batches and the noise of steps.
func (r *Run) planner() (func(steps int) (vae.Planned, error), error) {
	s, records := r.Spec, len(r.train.Pixels)
	streams, draws := seeded.Streams(r.seed, purposePlans), seeded.Stream(r.seed, purposePlans, 1)
	if s.Privacy != nil {
		m, err := s.mechanism(r.network.Pixels, records)
		if err != nil {
			return nil, err
		}
		run, err := m.Begin(seeded.Streams(r.seed, purposeSums))
		if err != nil {
			return nil, err
		}
		return func(steps int) (vae.Planned, error) { return run.Plan(steps, streams, draws) }, nil
	}
	sampling := dpmech.Poisson{Rate: s.Rate()}
	sampler, err := sampling.Sampler(records)
	if err != nil {
		return nil, err
	}
	sums := vae.NewPlain(r.network.Shape, sampler, nil)
	return func(steps int) (vae.Planned, error) {
		p, err := dpmech.NewBatchPlan(sampling, records, steps, streams.Sampling, draws)
		return vae.PlannedPlain{BatchPlan: p, Plain: sums}, err
	}, nil
}

// planned computes at most the given number of steps. If the device fails, the CPU computes them.
func (r *Run) planned(steps int) (int, error) {
	plan, err := r.device.plan(steps)
	if err != nil {
		return 0, err
	}
	err = r.trainer.TakePlan(plan)
	if broken := new(vae.DeviceError); errors.As(err, &broken) {
		if err := r.device.failed(err); err != nil {
			return 0, err
		}
		// The device has already failed, so an error of Detach does not matter.
		_ = r.trainer.Detach()
		r.device.name += ", then the processor"
		plan.Reclaim()
		err = r.trainer.TakePlan(plan)
	}
	return steps, err
}
