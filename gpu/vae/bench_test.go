package vae

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// mnist is the shape of d3p's autoencoder for MNIST. The benchmarks use generated images.
var mnist = Shape{Pixels: 784, Hidden: 400, Latent: 50}

// made returns random images in which a fifth of the pixels are not black, as in MNIST.
func made(n, pixels int) [][]byte {
	src := seeded.Stream(1, "images")
	images := make([][]byte, n)
	for i := range images {
		images[i] = make([]byte, pixels)
		for j := range images[i] {
			if w := src.Uint64(); w%5 == 0 {
				images[i][j] = byte(w >> 8)
			}
		}
	}
	return images
}

// BenchmarkStep measures steps with and without privacy on 60,000 images. A batch has 128 images on
// average. The benchmark reports the mean time of a step and the lowest decile, which other
// programs on the machine affect less.
func BenchmarkStep(b *testing.B) {
	sampling := dpmech.Poisson{Rate: 128. / 60000}
	images := made(60000, mnist.Pixels)
	for _, private := range []bool{true, false} {
		name := "plain"
		if private {
			name = "private"
		}
		b.Run(name, func(b *testing.B) {
			t := newStepper(b, images, sampling, private)
			var steps, work []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start, worked := time.Now(), processorTime(b)
				if err := t.Step(); err != nil {
					b.Fatal(err)
				}
				steps, work = append(steps, time.Since(start)), append(work, processorTime(b)-worked)
			}
			decile := func(of []time.Duration) float64 {
				slices.Sort(of)
				return float64(of[len(of)/10].Microseconds()) / 1e3
			}
			b.ReportMetric(decile(steps), "ms-decile")
			b.ReportMetric(decile(work), "processor-ms-decile")
		})
	}
}

// BenchmarkPrivacy alternates steps with and without privacy, so that other programs on the machine
// affect both in the same way. It reports deciles and medians of the CPU times of both, and the
// ratio of these times.
func BenchmarkPrivacy(b *testing.B) {
	sampling := dpmech.Poisson{Rate: 128. / 60000}
	images := made(60000, mnist.Pixels)
	private, plain := newStepper(b, images, sampling, true), newStepper(b, images, sampling, false)
	var work [2][]time.Duration
	for b.Loop() {
		for i, t := range []*Trainer{private, plain} {
			worked := processorTime(b)
			if err := t.Step(); err != nil {
				b.Fatal(err)
			}
			work[i] = append(work[i], processorTime(b)-worked)
		}
	}
	for _, share := range []struct {
		name string
		of   int
	}{{"decile", 10}, {"median", 2}} {
		var ms [2]float64
		for i, of := range work {
			slices.Sort(of)
			ms[i] = float64(of[len(of)/share.of].Microseconds()) / 1e3
		}
		b.ReportMetric(ms[0], "private-ms-"+share.name)
		b.ReportMetric(ms[1], "plain-ms-"+share.name)
		b.ReportMetric(ms[0]/ms[1], "ratio-"+share.name)
	}
}

// processorTime returns the CPU time of all threads of the process.
func processorTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

func newStepper(b *testing.B, images [][]byte, sampling dpmech.Sampling, private bool) *Trainer {
	b.Helper()
	n, err := NewNetwork(mnist, seeded.Stream(1, "weights"))
	if err != nil {
		b.Fatal(err)
	}
	batches := sampler(b, sampling, len(images))
	var sums Sums = NewPlain(mnist, batches, seeded.Stream(1, "batches"))
	if private {
		mechanism, err := dpmech.NewProductSum(dpmech.ProductConfig{
			Sampling: sampling, Records: len(images), Steps: 1 << 20, Layers: mnist.Layers(),
			Clip: 10, NoiseMultiplier: 1.5, Together: 208, Adjacency: accountant.AddRemove,
		})
		if err != nil {
			b.Fatal(err)
		}
		sums = begin(b, mechanism, 1)
	}
	workers := runtime.GOMAXPROCS(0)
	return newTrainer(b, n, images, sums, batches.MaxBatch(), Options{Rate: 1e-3, Batch: 128, Workers: workers}, 1)
}
