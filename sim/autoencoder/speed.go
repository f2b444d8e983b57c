package autoencoder

import (
	"errors"
	"fmt"
	"runtime"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/gpu/cuda"
	"fedpvi/gpu/device"
	"fedpvi/gpu/vae"
	"fedpvi/internal/speed"
)

// [Examine] measures the speed of this training run: d3p's autoencoder for MNIST.
const (
	speedImages = 6_000
	speedBatch  = 128
	speedWords  = "autoencoder 784-400-50, 688,884 weights, batches of some 128 made-up images"
)

var (
	speedShape    = vae.Shape{Pixels: 784, Hidden: 400, Latent: 50}
	speedSampling = dpmech.Poisson{Rate: speedBatch / float64(speedImages)}
)

// A Speed reports the speed of a machine, including its speed in training an autoencoder. Processor
// and GPUs replace the fields of the same name in the embedded report.
type Speed struct {
	*speed.Report
	// Network describes the autoencoder.
	Network   string         `json:"network"`
	Processor ProcessorSpeed `json:"processor"`
	GPUs      []GPUSpeed     `json:"gpus,omitempty"`
}

// ProcessorSpeed describes the speed of the CPU.
type ProcessorSpeed struct {
	speed.Processor
	// Network is the number of private autoencoder steps per second, on all cores.
	Network float64 `json:"network_steps_per_second"`
}

// GPUSpeed describes the speed of a GPU. All rates are zero if Failed is not empty.
type GPUSpeed struct {
	speed.GPU
	// Network is the number of private autoencoder steps per second, and Plain the number of steps
	// without privacy.
	Network float64 `json:"network_steps_per_second,omitempty"`
	Plain   float64 `json:"network_steps_per_second_plain,omitempty"`
}

// Examine measures the CPU and every GPU that the program can use. It takes a few seconds.
func Examine() (*Speed, error) {
	r, err := speed.Examine()
	if err != nil {
		return nil, err
	}
	s := &Speed{Report: r, Network: speedWords, Processor: ProcessorSpeed{Processor: r.Processor}}
	if s.Processor.Network, err = processorRate(); err != nil {
		return nil, err
	}
	for i, found := range r.GPUs {
		g := GPUSpeed{GPU: found}
		if g.Failed == "" {
			if err := g.measure(i); err != nil {
				g = GPUSpeed{GPU: speed.GPU{Name: found.Name, Failed: err.Error()}}
				r.GPUs[i] = g.GPU
			}
		}
		s.GPUs = append(s.GPUs, g)
	}
	return s, nil
}

// Lines returns the report as lines of text.
func (s *Speed) Lines() []speed.Line {
	all := append(s.Report.Lines(), speed.Line{
		Check: "autoencoder", Found: fmt.Sprintf("all cores take %s private steps a second (%s)", speed.Count(s.Processor.Network), s.Network),
	})
	for _, g := range s.GPUs {
		if g.Failed == "" {
			all = append(all, speed.Line{
				Check: "autoencoder", Found: fmt.Sprintf("%s takes %s private steps a second, %s without privacy", g.Name, speed.Count(g.Network), speed.Count(g.Plain)),
			})
		}
	}
	return all
}

func (g *GPUSpeed) measure(ordinal int) (err error) {
	devices, _, err := device.CUDA(ordinal).Take()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close(devices)) }()
	if g.Network, err = deviceRate(devices[0], true); err != nil {
		return err
	}
	g.Plain, err = deviceRate(devices[0], false)
	return err
}

func processorRate() (float64, error) {
	sums, most, err := newSpeedRun()
	if err != nil {
		return 0, err
	}
	t, err := newSpeedTrainer(sums, most)
	if err != nil {
		return 0, err
	}
	defer func() { _ = t.Close() }() // Close fails only if a device is in use
	return speed.Rate(func(steps int) error {
		for range steps {
			if err := t.Step(); err != nil {
				return err
			}
		}
		return nil
	})
}

// deviceRate returns the best measured number of steps per second on a device. The measured time
// includes drawing the batches on the CPU.
func deviceRate(d cuda.Device, private bool) (best float64, err error) {
	run, most, err := newSpeedRun()
	if err != nil {
		return 0, err
	}
	t, err := newSpeedTrainer(nil, most)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := t.Attach(d, private, most); err != nil {
		return 0, err
	}
	streams, draws := dpmech.NewStreams(), dpmech.NewStream()
	return speed.Rate(func(steps int) error {
		var plan vae.Planned
		var err error
		if private {
			plan, err = run.Plan(steps, streams, draws)
		} else {
			plan, err = newPlainPlan(steps, streams.Sampling, draws)
		}
		if err != nil {
			return err
		}
		return t.TakePlan(plan)
	})
}

// newSpeedTrainer returns a trainer on all cores. Without sums it can only run planned steps.
func newSpeedTrainer(sums vae.Sums, most int) (*vae.Trainer, error) {
	src := dpmech.NewStream()
	n, err := vae.NewNetwork(speedShape, src)
	if err != nil {
		return nil, err
	}
	data := make([][]byte, speedImages)
	for i := range data {
		data[i] = make([]byte, speedShape.Pixels)
		for j := range data[i] {
			if w := src.Uint64(); w%5 == 0 {
				data[i][j] = byte(w >> 8)
			}
		}
	}
	return vae.NewTrainer(n, data, sums, most, vae.Options{Rate: 1e-3, Batch: speedBatch, Workers: runtime.NumCPU()}, src)
}

// newSpeedRun returns a run of the mechanism that is timed, and the maximum batch size.
func newSpeedRun() (*dpmech.ProductRun, int, error) {
	sampler, err := speedSampling.Sampler(speedImages)
	if err != nil {
		return nil, 0, err
	}
	m, err := dpmech.NewProductSum(dpmech.ProductConfig{
		Sampling: speedSampling, Records: speedImages, Steps: 1 << 20, Layers: speedShape.Layers(),
		Clip: 10, NoiseMultiplier: 1.5, Together: sampler.MaxBatch(), Adjacency: accountant.AddRemove,
	})
	if err != nil {
		return nil, 0, err
	}
	run, err := m.Begin(dpmech.NewStreams())
	return run, sampler.MaxBatch(), err
}

func newPlainPlan(steps int, src, draws *dpmech.Stream) (vae.Planned, error) {
	p, err := dpmech.NewBatchPlan(speedSampling, speedImages, steps, src, draws)
	return vae.PlannedPlain{BatchPlan: p}, err
}
