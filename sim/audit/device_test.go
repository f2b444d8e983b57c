//go:build emulator && !cuda

package audit

import (
	"context"
	"fmt"
	"math"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu"
	"fedpvi/gpu/cuda"
	"fedpvi/gpu/cuda/emulator"
)

// deviceCases are cases in which a device draws the batches itself or gets them as lists.
var deviceCases = []descent{
	{"a device, poisson, add-remove", dpmech.Poisson{Rate: 0.25, Selection: dpmech.Feistel}, 0.25, 12, 20, 1.5, accountant.AddRemove, 0, nil},
	{"a device, poisson, replace-one", dpmech.Poisson{Rate: 0.25, Selection: dpmech.Feistel}, 0.25, 12, 20, 2, accountant.ReplaceOne, 0, nil},
	{"a device, poisson by list, add-remove", dpmech.Poisson{Rate: 0.25}, 0.25, 12, 20, 1.5, accountant.AddRemove, 0, nil},
	{"a device, without replacement, replace-one", dpmech.WithoutReplacement{Batch: 3, Selection: dpmech.Feistel}, 0.25, 12, 20, 2, accountant.ReplaceOne, 1, nil},
}

// A tamperer is a device that alters each plan before it stores it.
type tamperer struct {
	*emulator.Device
	of     *dpmech.SampledSum
	tamper func(t *tamperer, plan []uint64)
}

// Constants whose names end in Word are offsets of words in a device's plan that tests change.
// layerWords is the number of words that describe the layers of the noise sampler.
const (
	kindWord     = 0
	recordsWord  = 1
	lengthWord   = 7
	noiseKeyWord = 18
	layersWord   = 26
	layerWords   = 5 * 256
)

func (t *tamperer) Write(memory uint64, words []uint64) error {
	if t.tamper != nil && t.of != nil {
		for i := range words[:max(len(words)-layersWord-layerWords, 0)] {
			if words[i] <= 2 && words[i+recordsWord] == uint64(t.of.Records()) && words[i+2] == uint64(t.of.Steps()) && words[i+3] == uint64(t.of.Dim()) {
				t.tamper(t, words[i:])
				break
			}
		}
	}
	return t.Device.Write(memory, words)
}

// deviceSteps is a mechanism that computes its steps on a device. In its linear model, the gradient
// of a record equals its row, because every outcome is 1 and q hardly moves: the predictor stays 0
// and the slope stays 1.
type deviceSteps struct {
	*dpmech.SampledSum
	device *tamperer
}

// on returns a copy of the test case d in which the given device adds up the gradients.
func (d descent) on(device *tamperer) descent {
	d.adds = func(d descent, records int) (steps, error) {
		m, err := newIntegers(d, records)
		if err != nil {
			return nil, err
		}
		return deviceSteps{m.(integers).SampledSum, device}, nil
	}
	return d
}

func (m deviceSteps) play(released [][]float64, streams *dpmech.Streams, vector func(v []float64, record uint32)) error {
	data := cuda.Regression{Family: cuda.Linear, Dim: descentDim, Precision: 1}
	v := make([]float64, descentDim)
	for record := range m.Records() {
		vector(v, uint32(record))
		data.Rows = append(data.Rows, v...)
		data.Outcomes = append(data.Outcomes, 1)
	}
	table, err := data.Put(m.device)
	if err != nil {
		return err
	}
	defer table.Free()
	visit, err := m.visit(table, streams)
	if err != nil {
		return err
	}
	m.device.of = m.SampledSum
	if err := cuda.Descend(m.device, []*cuda.Visit{visit}); err != nil || !visit.Taken {
		return fmt.Errorf("steps taken: %t: %w", visit.Taken, err)
	}
	for i, n := range visit.Releases {
		released[i/descentDim][i%descentDim] = m.Lattice().Float(n)
	}
	return nil
}

func (m deviceSteps) visit(table *cuda.Table, streams *dpmech.Streams) (*cuda.Visit, error) {
	narrow := []float64{1e-9, 1e-9, 1e-9, 1e-9}
	o := gpu.MeanFieldOptions{
		Draws: 1, Clip: math.Inf(1), Rate: 1, Optimiser: gpu.NewAdam(2 * descentDim), Schedule: gpu.LinearDecay{First: 1e-9, Last: 1e-9}, Steps: m.Steps(),
		CavityMean: make([]float64, descentDim), CavityPrecision: []float64{1, 1, 1, 1},
	}
	run, err := gpu.NewMeanField(make([]float64, descentDim), narrow, o)
	if err != nil {
		return nil, err
	}
	plan, err := m.Begin().Plan(m.Steps(), streams, seeded.Stream(1, "draws"))
	if err != nil {
		return nil, err
	}
	return &cuda.Visit{Table: table, Plan: plan, Run: run, Options: o, Releases: make([]int64, m.Steps()*descentDim)}, nil
}

// deviceBatches makes a device draw batches. next returns one batch after another.
func (d descent) deviceBatches(device *tamperer, seed uint64) (next func() []uint32, err error) {
	m, err := dpmech.NewSampledSum(dpmech.SampledConfig{
		Sampling: d.sampling, Records: d.records, Steps: epochs, Dim: descentDim, Clip: descentClip, NoiseMultiplier: d.noise, Adjacency: d.adjacency,
	})
	if err != nil {
		return nil, err
	}
	device.of = m
	plan, err := m.Begin().Plan(epochs, seeded.Streams(seed, "device"), seeded.Stream(seed, "device, draws"))
	if err != nil {
		return nil, err
	}
	words, err := plan.Words(nil)
	if err != nil {
		return nil, err
	}
	stride := 1 + d.records
	out := make([]uint64, stride*epochs)
	memory, err := device.Alloc(8 * (len(words) + len(out)))
	if err != nil {
		return nil, err
	}
	defer device.Free(memory)
	if err := device.Write(memory, words); err != nil {
		return nil, err
	}
	at := memory + uint64(8*len(words))
	if err := device.Launch("draw_batches", epochs, 32, 1024, at, memory, uint64(stride)); err != nil {
		return nil, err
	}
	if err := device.Read(out, at); err != nil {
		return nil, err
	}
	return func() (batch []uint32) {
		for _, record := range out[1 : 1+out[0]] {
			batch = append(batch, uint32(record))
		}
		out = out[stride:]
		return batch
	}, nil
}

// audit audits steps that a device computes, and describes the checks that fail.
func (d descent) audit(t *testing.T, device *tamperer, seed uint64, runs int) []string {
	t.Helper()
	d = d.on(device)
	const alpha = 1e-7 // small, because the test makes eight checks in four cases and with four faults
	frequencies := func(ctx context.Context, t task) (Check, error) {
		next, err := d.deviceBatches(device, seed)
		if err != nil {
			return Check{}, err
		}
		return d.frequenciesOf(ctx, t, 1, next)
	}
	return failures(t, task{seed, runs, alpha}, aboutNoise(d.name, d.quiet), single(d.name, "frequencies", frequencies), lazily(d.name, d.attack))
}

func TestAuditOfTheDevice(t *testing.T) {
	for i, d := range deviceCases {
		for _, finding := range d.audit(t, &tamperer{Device: new(emulator.Device)}, uint64(i+1), 400) {
			t.Errorf("%s: %s", d.name, finding)
		}
	}
}

func TestAuditFindsTamperingDevice(t *testing.T) {
	d := deviceCases[0]
	var key []uint64 // key of the noise in the first plan
	for name, tamper := range map[string]func(t *tamperer, plan []uint64){
		"no clipping":             func(_ *tamperer, plan []uint64) { plan[lengthWord] = math.Float64bits(math.Inf(1)) },
		"a record in every batch": func(_ *tamperer, plan []uint64) { plan[kindWord] = 0 },
		"the same noise in every run": func(_ *tamperer, plan []uint64) {
			if key == nil {
				key = append(key, plan[noiseKeyWord:noiseKeyWord+4]...)
			}
			copy(plan[noiseKeyWord:], key)
		},
		"less noise": func(t *tamperer, plan []uint64) {
			// This fault reduces the noise multiplier by a tenth, on the same lattice.
			less := d
			less.noise *= 0.9
			m, err := newIntegers(less, t.of.Records())
			if err != nil || m.(integers).Lattice() != t.of.Lattice() {
				panic("the fault cannot be planted")
			}
			p, err := m.(integers).Begin().Plan(1, seeded.Streams(1, "less"), seeded.Stream(1, "less, draws"))
			if err != nil {
				panic(err)
			}
			words, err := p.Words(nil)
			if err != nil {
				panic(err)
			}
			copy(plan[layersWord:layersWord+layerWords], words[layersWord:])
		},
	} {
		found := d.audit(t, &tamperer{Device: new(emulator.Device), tamper: tamper}, 9, 200)
		t.Logf("%s: %v", name, found)
		if len(found) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
}
