package speed

import (
	"errors"
	"runtime"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/gpu/cuda"
	"fedpvi/gpu/vae"
)

// The network: d3p's autoencoder of MNIST, on made-up images.
const (
	images       = 6_000
	networkBatch = 128
	networkWords = "autoencoder 784-400-50, 688,884 weights, batches of some 128 made-up images"
)

var network = vae.Shape{Pixels: 784, Hidden: 400, Latent: 50}

var networkSampling = dpmech.Poisson{Rate: networkBatch / float64(images)}

// newNetworkTrainer returns a trainer of the network with all cores, which takes plans unless
// it has sums.
func newNetworkTrainer(sums vae.Sums, most int) (*vae.Trainer, error) {
	src := dpmech.NewStream()
	n, err := vae.NewNetwork(network, src)
	if err != nil {
		return nil, err
	}
	data := make([][]byte, images)
	for i := range data {
		data[i] = make([]byte, network.Pixels)
		for j := range data[i] {
			if w := src.Uint64(); w%5 == 0 {
				data[i][j] = byte(w >> 8)
			}
		}
	}
	return vae.NewTrainer(n, data, sums, most, vae.Options{Rate: 1e-3, Batch: networkBatch, Workers: runtime.NumCPU()}, src)
}

// newNetworkRun returns what hides its private steps, and the most images of a batch.
func newNetworkRun() (*dpmech.ProductRun, int, error) {
	sampler, err := networkSampling.Sampler(images)
	if err != nil {
		return nil, 0, err
	}
	m, err := dpmech.NewProductSum(dpmech.ProductConfig{
		Sampling: networkSampling, Records: images, Steps: 1 << 20, Layers: network.Layers(),
		Clip: 10, NoiseMultiplier: 1.5, Together: sampler.MaxBatch(), Adjacency: accountant.AddRemove,
	})
	if err != nil {
		return nil, 0, err
	}
	run, err := m.Begin(dpmech.NewStreams())
	return run, sampler.MaxBatch(), err
}

// newTrainer returns one that takes private steps on the processor.
func newTrainer() (*vae.Trainer, error) {
	sums, most, err := newNetworkRun()
	if err != nil {
		return nil, err
	}
	return newNetworkTrainer(sums, most)
}

// networkRate returns how many private steps of the network the processor takes a second.
func networkRate() (float64, error) {
	t, err := newTrainer()
	if err != nil {
		return 0, err
	}
	defer func() { _ = t.Close() }() // of no device
	return rate(func(steps int) error {
		for range steps {
			if err := t.Step(); err != nil {
				return err
			}
		}
		return nil
	})
}

// networkRateOn returns how many steps of the network a device takes a second, planned
// together, with what that takes of the processor.
func networkRateOn(d cuda.Device, private bool) (best float64, err error) {
	run, most, err := newNetworkRun()
	if err != nil {
		return 0, err
	}
	t, err := newNetworkTrainer(nil, most)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := t.Attach(d, private, most); err != nil {
		return 0, err
	}
	streams, draws := dpmech.NewStreams(), dpmech.NewStream()
	return rate(func(steps int) error {
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

func newPlainPlan(steps int, src, draws *dpmech.Stream) (vae.Planned, error) {
	p, err := dpmech.NewBatchPlan(networkSampling, images, steps, src, draws)
	return vae.PlannedPlain{BatchPlan: p}, err
}
