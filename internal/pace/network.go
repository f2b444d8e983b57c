package pace

import (
	"runtime"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/gpu/vae"
)

// The network: d3p's autoencoder of MNIST, on made-up images.
const (
	images       = 6_000
	networkBatch = 128
	networkWords = "autoencoder 784-400-50, 688,884 weights, batches of some 128 made-up images"
)

var network = vae.Shape{Pixels: 784, Hidden: 400, Latent: 50}

// A trainer of the network takes private steps with all cores.
func newTrainer() (*vae.Trainer, error) {
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
	sampling := dpmech.Poisson{Rate: networkBatch / float64(images)}
	sampler, err := sampling.Sampler(images)
	if err != nil {
		return nil, err
	}
	m, err := dpmech.NewProductSum(dpmech.ProductConfig{
		Sampling: sampling, Records: images, Steps: 1 << 20, Layers: network.Layers(),
		Clip: 10, NoiseMultiplier: 1.5, Together: sampler.MaxBatch(), Adjacency: accountant.AddRemove,
	})
	if err != nil {
		return nil, err
	}
	sums, err := m.Begin(dpmech.NewStreams())
	if err != nil {
		return nil, err
	}
	return vae.NewTrainer(n, data, sums, sampler.MaxBatch(), vae.Options{Rate: 1e-3, Batch: networkBatch, Workers: runtime.NumCPU()}, src)
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
