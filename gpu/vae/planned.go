package vae

import (
	"fmt"

	"fedpvi/dpmech"
	"fedpvi/gpu/cuda"
	"fedpvi/internal/math32"
)

// Planned fixes the batches, random numbers and noise of several steps in advance, so that a device
// and the CPU compute the same steps. It is a [dpmech.ProductPlan] or a [PlannedPlain].
type Planned interface {
	Sums
	cuda.NetworkPlan

	// PlaceBits sets src to the random bits of a record in the current step. RecordNormals fills
	// dst with the record's standard normal numbers.
	PlaceBits(src *dpmech.Stream, record uint32)
	RecordNormals(dst []float64, src *dpmech.Stream, record uint32)
}

// A PlannedPlain is a plan of steps without privacy, with [Plain] sums.
type PlannedPlain struct {
	*dpmech.BatchPlan
	*Plain
}

// Next implements Sums.
func (p PlannedPlain) Next() (batch []uint32, err error) {
	p.batch, err = p.BatchPlan.Next()
	return p.batch, err
}

// Attach makes a device compute the steps of later plans. private is true if the plans are private,
// and most is the largest number of records in their batches. If the device fails in Attach or in
// [Trainer.TakePlan], the error is a [DeviceError].
func (t *Trainer) Attach(d cuda.Device, private bool, most int) error {
	n := t.network
	card, err := cuda.NewNetwork(d, cuda.NetworkConfig{
		Pixels: n.Pixels, Hidden: n.Hidden, Latent: n.Latent, Batch: most, Private: private,
		Beta1: t.adam.Beta1, Beta2: t.adam.Beta2, Epsilon: t.adam.Epsilon, Scale: 1 / t.options.Batch,
	}, t.images)
	if err != nil {
		return &DeviceError{err}
	}
	t.card = card
	return t.push()
}

// A DeviceError means that a device has failed. The trainer has not changed. The caller can call
// [Trainer.Detach] and the plan's method Reclaim, and then compute the steps on the CPU.
type DeviceError struct{ Err error }

func (e *DeviceError) Error() string { return e.Err.Error() }

// Unwrap returns the device's error.
func (e *DeviceError) Unwrap() error { return e.Err }

// Detach frees the device's memory. The CPU then computes the steps of later plans.
func (t *Trainer) Detach() error {
	if t.card == nil {
		return nil
	}
	t.Sync()
	err := t.card.Close()
	t.card = nil
	return err
}

// TakePlan computes all steps of a plan, on the attached device or, if no device is attached, on
// the CPU. After steps on a device, [Trainer.Sync] must copy the new weights to the network before
// they are read.
func (t *Trainer) TakePlan(plan Planned) error {
	if t.card == nil {
		return t.takeHere(plan)
	}
	adam := t.adam
	moves := make([]float32, 0, 2*plan.Steps())
	for range plan.Steps() {
		move := adam.Next(t.options.Rate, 1/t.options.Batch)
		first, second := move.Rates()
		moves = append(moves, first, second)
	}
	if err := t.card.Take(plan, moves, nil); err != nil {
		return &DeviceError{err}
	}
	t.adam, t.behind = adam, true
	return nil
}

// takeHere computes the steps of a plan on the CPU.
func (t *Trainer) takeHere(plan Planned) error {
	t.use(plan)
	t.plan = plan
	defer func() { t.plan = nil }()
	for range plan.Steps() {
		if err := t.Step(); err != nil {
			return fmt.Errorf("trainer: %w", err)
		}
	}
	plan.Wipe()
	return nil
}

// Sync copies the weights and Adam's moments from the device to the trainer.
func (t *Trainer) Sync() {
	if !t.behind {
		return
	}
	t.behind = false
	weights, first, second := t.card.State()
	t.each(func(l, at, place int) {
		t.network.weights[l].Data[place] = weights[at]
		t.first[l].Data[place], t.second[l].Data[place] = first[at], second[at]
	})
	for l, w := range t.network.weights {
		t.network.turn(l, 0, w.Rows)
	}
}

// push copies the weights and Adam's moments to the device.
func (t *Trainer) push() error {
	places := t.card.Places()
	weights, first, second := make([]float32, places), make([]float32, places), make([]float32, places)
	t.each(func(l, at, place int) {
		weights[at] = t.network.weights[l].Data[place]
		first[at], second[at] = t.first[l].Data[place], t.second[l].Data[place]
	})
	if err := t.card.SetState(weights, first, second); err != nil {
		return &DeviceError{err}
	}
	return nil
}

// each calls visit for every weight of the network. layer is the layer of the weight, at is the
// index of the weight in the device's array, and place is its index in the panels of the layer (see
// [math32.Panels]).
func (t *Trainer) each(visit func(layer, at, place int)) {
	start := 0
	for l, layer := range t.network.Layers() {
		w := math32.Panels{Rows: layer.Inputs, Columns: layer.Outputs}
		for i := range layer.Inputs {
			for j := range layer.Outputs {
				visit(l, start+j, w.At(i, j))
			}
			start += layer.PlanStride()
		}
	}
}
