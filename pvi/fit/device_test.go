//go:build emulator

package fit

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu"
	"fedpvi/gpu/cuda"
	"fedpvi/gpu/cuda/emulator"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

type gone struct{ emulator.Device }

func (*gone) Launch(string, int, int, int, ...uint64) error { return errors.New("gone") }

// For each model that package cuda supports, private steps lead to the same factor on a device as
// with the record program. For all other models OnDevice returns an error.
func TestModelsOnADevice(t *testing.T) {
	models["known clusters"] = `{ family = "mixture", columns = ["u", "y"], components = 4, cluster_sd = 0.3 }`
	defer delete(models, "known clusters")
	not := map[string]bool{"softmax": true, "network": true, "centred": true, "centred counts": true}
	for name := range models {
		not[name] = not[name] || plain[name]
		m := newModel(t, name)
		if err := m.OnDevice(); (err != nil) != not[name] {
			t.Errorf("%s: %v", name, err)
		}
		if not[name] {
			continue
		}
		there, here := proposeOn(t, m, new(emulator.Device)), proposeOn(t, m, new(gone))
		for i, x := range here {
			if off := math.Abs(there[i]-x) / (1 + math.Abs(x)); !(off < 1e-7) {
				t.Errorf("%s: number %d of the factor is %g on the device, %g here", name, i, there[i], x)
			}
		}
	}
}

// proposeOn returns the factor proposed after 20 private steps on the device d.
func proposeOn(t *testing.T, m *Model, d cuda.Device) []float64 {
	t.Helper()
	const records, clients = 150, 3
	s := randomShard(m, records, rand.New(rand.NewPCG(1, 2)))
	program, err := m.Records(s, clients)
	if err != nil {
		t.Fatal(err)
	}
	mechanism := func(selection dpmech.Selection) *dpmech.SampledSum {
		sum, err := dpmech.NewSampledSum(dpmech.SampledConfig{
			Sampling: dpmech.Poisson{Rate: 0.3, Selection: selection}, Records: records, Steps: 20,
			Dim: program.Dim(), Clip: 2, NoiseMultiplier: 1, Adjacency: accountant.AddRemove,
		})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	descent, err := solver.NewDPSVI(program, mechanism(dpmech.Exact), solver.DPSVIOptions{
		Steps: 20, Draws: 1, Rate: 0.3, Gradients: study.Aligned, Optimiser: study.Adam,
		Schedule: gpu.LinearDecay{First: 0.05, Last: 0.05}, Average: 0.5, InitialSD: 0.5,
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := m.OnDeviceRecords(s, clients)
	if err != nil {
		t.Fatal(err)
	}
	a := solver.Accelerator{Device: d, Failed: func(err error) error {
		if _, ok := d.(*gone); !ok {
			t.Errorf("the device fails: %v", err)
		}
		return nil
	}}
	if err := descent.On(a, mechanism(dpmech.Feistel), data); err != nil {
		t.Fatal(err)
	}
	dim := program.Dim()
	cavity := make([]float64, 2*dim)
	mean := make([]float64, dim)
	for i, p := range m.Parameters.All() {
		precision := 1 / (p.Prior.SD * p.Prior.SD)
		mean[i] = p.Prior.Mean
		cavity[i], cavity[dim+i] = precision*p.Prior.Mean, precision
	}
	proposed := make([]float64, 2*dim)
	problem := solver.Problem{Family: gaussian.Diagonal(dim), Cavity: cavity, Natural: cavity, Mean: mean}
	if _, err := descent.Propose(proposed, problem, seeded.Stream(1, "propose")); err != nil {
		t.Fatal(err)
	}
	return proposed
}
