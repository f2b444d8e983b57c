package device

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/gpu"
	"fedpvi/gpu/cuda"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// These are the sizes of the problem that [Test] solves.
const (
	testRecords = 300
	testDim     = 5
	testSteps   = 20
	testRate    = 0.2
	// largest allowed difference between an element of q on the device and on the CPU, relative to
	// 1 plus the absolute value of the element
	agreement = 1e-9
)

// Test computes the same private steps of a logistic regression on a device and on the CPU. The two
// programs share no code. The records are generated. Test returns an error if q or the noisy sums
// differ by more than rounding can explain. The noisy sums agree only if the device has drawn the
// same batches and noise.
func Test(d cuda.Device) error {
	err := test(d)
	if err != nil {
		return fmt.Errorf("%s failed the test before use: %w", d.Name(), err)
	}
	return nil
}

func test(d cuda.Device) error {
	rows, outcomes := testData()
	records, err := testProgram(rows, outcomes)
	if err != nil {
		return err
	}
	// The device draws Feistel batches itself, and gets exact batches as lists.
	for _, selection := range []dpmech.Selection{dpmech.Feistel, dpmech.Exact} {
		if err := testBatches(d, selection, rows, outcomes, records); err != nil {
			return err
		}
	}
	return nil
}

func testBatches(d cuda.Device, selection dpmech.Selection, rows, outcomes []float64, records gpu.Evaluator) error {
	mechanism, err := dpmech.NewSampledSum(dpmech.SampledConfig{
		Sampling: dpmech.Poisson{Rate: testRate, Selection: selection}, Records: testRecords, Steps: testSteps,
		Dim: testDim, Clip: 0.5, NoiseMultiplier: 1, Adjacency: accountant.AddRemove,
	})
	if err != nil {
		return err
	}
	there, here, err := samePlans(mechanism)
	if err != nil {
		return err
	}
	visit := &cuda.Visit{Plan: there, Releases: make([]int64, testSteps*testDim)}
	if visit.Run, visit.Options, err = testRun(); err != nil {
		return err
	}
	data := cuda.Regression{Family: cuda.Logistic, Dim: testDim, Rows: rows, Outcomes: outcomes}
	if visit.Table, err = data.Put(d); err != nil {
		return err
	}
	if err := errors.Join(cuda.Descend(d, []*cuda.Visit{visit}), visit.Table.Free()); err != nil {
		return err
	}
	run, _, err := testRun()
	if err != nil {
		return err
	}
	releases, err := steps(here, run, records)
	if err != nil {
		return err
	}
	return compare(visit, run, releases, mechanism)
}

// samePlans returns two plans with the same batches and noise. Using noise twice protects no
// records, but these records are generated.
func samePlans(m *dpmech.SampledSum) (a, b *dpmech.Plan, err error) {
	a, err = m.Begin().Plan(testSteps, dpmech.NewStreams(), dpmech.NewStream())
	if err != nil {
		return nil, nil, err
	}
	same := *a
	return a, &same, nil
}

// testData returns generated records. The covariates of record i are cos(ij) for j = 0, 1, …, so
// the first is 1.
func testData() (rows, outcomes []float64) {
	for i := range testRecords {
		at := 0.0
		for j := range testDim {
			x := math.Cos(float64(i * j))
			rows = append(rows, x)
			at += x * math.Cos(float64(j))
		}
		y := 0.0
		if at > math.Sin(float64(i*i)) {
			y = 1
		}
		outcomes = append(outcomes, y)
	}
	return rows, outcomes
}

// testProgram returns the CPU's evaluator of the regression on the given records.
func testProgram(rows, outcomes []float64) (gpu.Evaluator, error) {
	b := model.NewBuilder("logistic regression")
	names := make([]string, testDim)
	for j := range names {
		names[j] = fmt.Sprint("x", j)
	}
	y, x := b.Integer("y", 0, 1), b.Reals("x", names, -1, 1)
	eta := b.Linear(x, b.Vector("beta", names, model.Free, b.Normal(model.Normal{SD: 1})))
	m, err := b.Build(b.LogDensity(ir.BernoulliLogit, y, eta))
	if err != nil {
		return nil, err
	}
	table, err := m.Load(testRecords, [][]float64{outcomes, rows})
	if err != nil {
		return nil, err
	}
	return gpu.CPU{}.Compile(m, table)
}

// testRun returns a run for the steps of the test, together with its options.
func testRun() (*gpu.MeanField, gpu.MeanFieldOptions, error) {
	mean, sd := make([]float64, testDim), make([]float64, testDim)
	for i := range sd {
		sd[i] = 1
	}
	o := gpu.MeanFieldOptions{
		Draws: 1, Clip: math.Inf(1), Rate: testRate, CavityMean: mean, CavityPrecision: sd,
		Optimiser: gpu.NewAdam(2 * testDim), Schedule: gpu.LinearDecay{First: 0.1, Last: 0.01}, Steps: testSteps, Average: 0.5,
	}
	run, err := gpu.NewMeanField(mean, sd, o)
	return run, o, err
}

// steps computes the steps of a plan on the CPU, as a reference for the device. It changes run and
// returns the noisy sums of all steps.
func steps(p *dpmech.Plan, run *gpu.MeanField, records gpu.Evaluator) (releases []int64, err error) {
	noisy, total := make([]int64, testDim), make([]float64, testDim)
	for range testSteps {
		err := p.Next(noisy, func(batch []uint32, sum *dpmech.Accumulator) error {
			rows := make([]int32, len(batch))
			for l, record := range batch {
				rows[l] = int32(record)
			}
			return records.Each(run.Next(p.Normals, rows), sink{sum})
		})
		if err != nil {
			return nil, err
		}
		for i, n := range noisy {
			total[i] = p.Mechanism().Lattice().Step() * float64(n)
		}
		run.Update(total)
		releases = append(releases, noisy...)
	}
	return releases, nil
}

// sink passes contributions to the mechanism's accumulator.
type sink struct{ sum *dpmech.Accumulator }

// AddRecord implements [gpu.Sink].
func (s sink) AddRecord(_ []int32, value []float64) error { return s.sum.Add(value) }

// compare returns an error if the device's results v differ from the CPU's by more than rounding
// can explain. run and releases have the CPU's results.
func compare(v *cuda.Visit, run *gpu.MeanField, releases []int64, m *dpmech.SampledSum) error {
	got := v.Run.AppendState(nil)
	for i, want := range run.AppendState(nil) {
		if off := math.Abs(got[i] - want); !(off <= agreement*(1+math.Abs(want))) {
			return fmt.Errorf("its q differs from the processor's by %g", off)
		}
	}
	// Because of rounding, an element of a record's clipped vector may change by a small part of
	// the clip, and may move to the next lattice point. The bound is the sum of these errors over
	// all records.
	most := testRecords * (1 + agreement*m.Clip()/m.Lattice().Step())
	for i, want := range releases {
		if off := math.Abs(float64(v.Releases[i] - want)); off > most {
			return fmt.Errorf("a noisy sum differs from the processor's by %g steps of the lattice", off)
		}
	}
	return nil
}
