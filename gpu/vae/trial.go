package vae

import (
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/gpu/cuda"
	"fedpvi/internal/math32"
)

// These are the sizes of the data and the steps of [Try].
const (
	tryRecords = 100
	// tryTogether is the number of records in a batch that the matrix product adds up. Some batches
	// have more records, which are added one by one. So the trial covers both ways.
	tryTogether = 30
	trySteps    = 3
	tryAgree    = 1e-4 // largest difference of weights and moments, relative to the largest value in the layer
)

var tryShape = Shape{Pixels: 45, Hidden: 33, Latent: 5}

// Try tests whether a device computes private steps of a network correctly. It computes the same
// steps of a small network on the device and on the CPU, with generated images and with programs
// that share no code. Try returns an error if a computation fails or if the results differ by more
// than rounding explains. They can agree only if the device used the same batches, random numbers
// and noise.
func Try(d cuda.Device) error {
	err := try(d)
	if err != nil {
		return fmt.Errorf("%s failed the test of a network: %w", d.Name(), err)
	}
	return nil
}

func try(d cuda.Device) error {
	mechanism, err := dpmech.NewProductSum(dpmech.ProductConfig{
		Sampling: dpmech.Poisson{Rate: 0.3}, Records: tryRecords, Steps: trySteps, Layers: tryShape.Layers(),
		Clip: 5, NoiseMultiplier: 1, Together: tryTogether, Adjacency: accountant.AddRemove,
	})
	if err != nil {
		return err
	}
	run, err := mechanism.Begin(dpmech.NewStreams())
	if err != nil {
		return err
	}
	there, err := run.Plan(trySteps, dpmech.NewStreams(), dpmech.NewStream())
	if err != nil {
		return err
	}
	here := *there // noise that is used twice protects no record, but these images are generated and belong to nobody
	images := make([][]byte, tryRecords)
	for i := range images {
		images[i] = make([]byte, tryShape.Pixels)
		for j := range images[i] {
			images[i][j] = byte(i * j)
		}
	}
	trainers := [2]*Trainer{}
	for i := range trainers {
		n, err := NewNetwork(tryShape, dpmech.NewStream())
		if err != nil {
			return err
		}
		for l, w := range n.weights { // makes all weights different
			for k := range w.Rows {
				for j := range w.Columns {
					w.Data[w.At(k, j)] = float32(0.2 * math.Cos(float64(l+7*k+11*j)))
				}
			}
			n.turn(l, 0, w.Rows)
		}
		if trainers[i], err = NewTrainer(n, images, nil, tryRecords, Options{Rate: 0.01, Batch: 30, Workers: 1}, dpmech.NewStream()); err != nil {
			return err
		}
		defer trainers[i].crew.close()
	}
	return compare(d, trainers, there, &here)
}

// compare checks that a device computes the same steps as the CPU. there and here are two copies of
// one plan. compare computes there on the device with the first trainer, and here on the CPU with
// the second. It returns an error if a computation fails or if the results differ.
func compare(d cuda.Device, trainers [2]*Trainer, there, here *dpmech.ProductPlan) error {
	device, processor := trainers[0], trainers[1]
	if err := device.Attach(d, true, tryRecords); err != nil {
		return err
	}
	err := device.TakePlan(there)
	if left := device.Detach(); err == nil {
		err = left
	}
	if err == nil {
		err = processor.TakePlan(here)
	}
	if err != nil {
		return err
	}
	return device.differs(processor, tryAgree)
}

// differs returns an error if a weight or moment of t, the trainer of a device, differs from that
// of processor by more than most (see [apart]).
func (t *Trainer) differs(processor *Trainer, most float64) error {
	for _, of := range []struct {
		name string
		a, b []math32.Panels
	}{
		{"weights", t.network.weights[:], processor.network.weights[:]},
		{"first moments", t.first[:], processor.first[:]},
		{"second moments", t.second[:], processor.second[:]},
	} {
		if e := apart(of.a, of.b); !(e <= most) {
			return fmt.Errorf("its %s differ from the processor's by %g", of.name, e)
		}
	}
	return nil
}

// apart returns the largest relative difference between the numbers of a and b, which have the same
// layers. The difference of two numbers is divided by the largest finite absolute value in the same
// layer of b. Two equal numbers and two NaNs do not differ. If any other number is not finite, the
// result is infinite or NaN.
func apart(a, b []math32.Panels) (most float64) {
	for l := range a {
		scale := 0x1p-100
		for _, x := range b[l].Data {
			if size := math.Abs(float64(x)); size <= math.MaxFloat32 {
				scale = max(scale, size)
			}
		}
		for i, x := range a[l].Data {
			y := b[l].Data[i]
			if x == y || x != x && y != y {
				continue
			}
			most = max(most, math.Abs(float64(x-y))/scale)
		}
	}
	return most
}
