package autoencoder

import (
	"context"
	"errors"
	"fmt"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu/vae"
	"fedpvi/sim"
)

// Result describes a finished run.
type Result struct {
	Name       string  `json:"name"`
	Seed       uint64  `json:"seed"`
	Records    int     `json:"records"`
	Parameters int     `json:"parameters"`
	Batch      int     `json:"batch"`
	Steps      int     `json:"steps"`
	Epochs     []Epoch `json:"epochs"`

	// TestLoss is the mean −ELBO per test image after the last epoch, in nats.
	TestLoss float64     `json:"test_loss"`
	Privacy  *Accounting `json:"privacy,omitempty"` // nil without privacy

	// ComputedOn is the name of the device that computed the steps, or empty if the CPU did. With
	// the same seed, the two give different results.
	ComputedOn string `json:"computed_on,omitempty"`
	Folder     string `json:"folder,omitempty"`
}

// An Epoch holds the mean −ELBO per test image after an epoch, in nats.
type Epoch struct {
	Epoch    int     `json:"epoch"`
	TestLoss float64 `json:"test_loss"`
}

// A Run is an experiment that is ready to train.
type Run struct {
	Spec       *Spec
	Accounting *Accounting

	train, test *Images
	network     *vae.Network
	trainer     *vae.Trainer
	seed        uint64
	device      *onDevice // device that computes the steps; nil for the CPU
}

// These constants are the names of the seeded random streams.
const (
	purposeWeights  = "autoencoder/weights"
	purposeSums     = "autoencoder/sums"
	purposeBits     = "autoencoder/bits"
	purposePlans    = "autoencoder/plans"
	purposeTest     = "autoencoder/test"
	purposePictures = "autoencoder/pictures"
)

// New reads the images and prepares a run. The caller must close the run.
func New(s *Spec, seed uint64, workers int) (*Run, error) {
	r := &Run{Spec: s, seed: seed}
	if err := r.read(); err != nil {
		return nil, err
	}
	var err error
	if r.Accounting, err = s.Account(len(r.train.Pixels[0])); err != nil {
		return nil, err
	}
	shape := vae.Shape{Pixels: len(r.train.Pixels[0]), Hidden: s.Hidden, Latent: s.Latent}
	if r.network, err = vae.NewNetwork(shape, seeded.Stream(seed, purposeWeights)); err != nil {
		return nil, err
	}
	sums, most, err := s.sums(shape, len(r.train.Pixels), seed)
	if err != nil {
		return nil, err
	}
	options := vae.Options{Rate: s.StepSize, Batch: float64(s.Batch), Workers: workers}
	r.trainer, err = vae.NewTrainer(r.network, r.train.Pixels, sums, most, options, seeded.Stream(seed, purposeBits))
	return r, err
}

func (r *Run) read() error {
	for _, file := range []struct {
		name   string
		images **Images
	}{{r.Spec.Train, &r.train}, {r.Spec.Test, &r.test}} {
		path, err := sim.FindData(r.Spec.path, file.name)
		if err != nil {
			return err
		}
		if *file.images, err = readImages(path, maxRecords); err != nil {
			return err
		}
	}
	if a, b := r.train, r.test; a.Height != b.Height || a.Width != b.Width {
		return errors.New("autoencoder: images for training and for the test have different sizes")
	}
	if n := len(r.train.Pixels); n != r.Spec.Records && r.Spec.Privacy == nil {
		return fmt.Errorf("autoencoder: training.records is %d, but the file has %d images", r.Spec.Records, n)
	}
	return nil
}

// sums returns the mechanism that adds up the gradients of a batch, and the maximum batch size.
func (s *Spec) sums(shape vae.Shape, records int, seed uint64) (vae.Sums, int, error) {
	sampler, err := dpmech.Poisson{Rate: s.Rate()}.Sampler(records)
	if err != nil {
		return nil, 0, err
	}
	streams := seeded.Streams(seed, purposeSums)
	if s.Privacy == nil {
		return vae.NewPlain(shape, sampler, streams.Sampling), sampler.MaxBatch(), nil
	}
	m, err := s.mechanism(shape.Pixels, records)
	if err != nil {
		return nil, 0, err
	}
	run, err := m.Begin(streams)
	return run, sampler.MaxBatch(), err
}

// Close stops the workers and frees the device's memory.
func (r *Run) Close() error { return r.trainer.Close() }

// Train computes all steps. After each step, or each call of the device, it calls progress with the
// latest loss on the test set, which is public.
func (r *Run) Train(ctx context.Context, progress func(step int, last *Epoch)) (*Result, error) {
	s := r.Spec
	result := &Result{
		Name: s.Name, Seed: r.seed, Records: s.Records, Parameters: r.network.Parameters(),
		Batch: s.Batch, Steps: s.Steps(), Privacy: r.Accounting,
	}
	var last *Epoch
	for step := 0; step < s.Steps(); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		left := s.stepsPerEpoch() - step%s.stepsPerEpoch()
		taken, err := r.steps(left)
		if err != nil {
			return nil, err
		}
		if step += taken; taken == left {
			result.Epochs = append(result.Epochs, Epoch{step / s.stepsPerEpoch(), r.loss()})
			last = &result.Epochs[len(result.Epochs)-1]
		}
		progress(step, last)
	}
	result.TestLoss = last.TestLoss
	if r.device != nil {
		result.ComputedOn = r.device.name
	}
	return result, nil
}

// steps computes the next step on the CPU, or several steps on a device, but not more than left. It
// returns the number of steps that it computed.
func (r *Run) steps(left int) (int, error) {
	if r.device != nil {
		return r.planned(min(left, mostPlanned))
	}
	return 1, r.trainer.Step()
}

// loss returns the mean −ELBO per test image. All calls use the same random draws.
func (r *Run) loss() float64 {
	return r.trainer.Loss(r.test.Pixels, seeded.Stream(r.seed, purposeTest))
}
