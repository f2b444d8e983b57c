//go:build emulator || cuda

package vae

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu/cuda"
	"fedpvi/internal/math32"
)

// A scene has a network, its records, and the steps that both a device and the CPU compute.
type scene struct {
	shape       Shape
	records     int
	sampling    dpmech.Sampling
	together    int
	steps       int
	clip, sigma float64
	large       float32 // value of one weight of the first pixel; 0 means that the weight stays as it is
}

func (s scene) String() string {
	return fmt.Sprintf("%v, %d records, %+v", s.shape, s.records, s.sampling)
}

func poisson(rate float64) dpmech.Sampling {
	return dpmech.Poisson{Rate: rate, Selection: dpmech.Feistel}
}

// scenes lists test problems of odd sizes. There are batches without records, with one record, and
// with whole tiles of records. Some records are clipped and some are not.
var scenes = []scene{
	{Shape{1, 1, 1}, 1, dpmech.FullBatch{}, 1, 3, 2, 0.05, 0},
	{Shape{21, 11, 3}, 1, poisson(0.5), 1, 8, 1, 1, 0},
	{Shape{21, 11, 3}, 40, poisson(0), 5, 3, 1, 1, 0},
	{Shape{21, 11, 3}, 40, poisson(0.3), 40, 6, 11, 0.06, 0},
	{Shape{33, 40, 17}, 3000, poisson(0.01), 80, 3, 1200, 0.06, 0},
	{Shape{64, 32, 8}, 129, dpmech.FullBatch{}, 160, 2, 75, 1e-3, 0},
	{Shape{9, 30, 4}, 500, dpmech.Poisson{Rate: 0.05}, 60, 4, 15, 0.06, 0},
	{Shape{130, 70, 5}, 700, dpmech.WithoutReplacement{Batch: 17, Selection: dpmech.Feistel}, 17, 2, 200, 0.06, 0},
	{Shape{5, 3, 1}, 100_000, poisson(2e-4), 40, 3, 20, 0.06, 0},
	// In the other scenes, some batches have more records than the matrix product adds up. The
	// surplus records are added one by one.
	{Shape{21, 11, 3}, 40, poisson(0.3), 11, 6, 11, 0.06, 0},
	{Shape{33, 40, 17}, 300, poisson(0.1), 1, 3, 1200, 0.06, 0},
	{Shape{64, 32, 8}, 129, dpmech.FullBatch{}, 97, 2, 75, 1e-3, 0},
}

func (s scene) mechanism(t testing.TB) *dpmech.ProductSum {
	t.Helper()
	m, err := dpmech.NewProductSum(dpmech.ProductConfig{
		Sampling: s.sampling, Records: s.records, Steps: 100, Layers: s.shape.Layers(),
		Clip: s.clip, NoiseMultiplier: s.sigma, Together: s.together, Adjacency: accountant.ReplaceOne,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (s scene) plan(t testing.TB, seed uint64) *dpmech.ProductPlan {
	t.Helper()
	p, err := begin(t, s.mechanism(t), 1).Plan(s.steps, seeded.Streams(seed, "plan"), seeded.Stream(seed, "plan, draws"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// trainer returns a trainer for the scene. The network's weights are so large that every derivative
// matters.
func (s scene) trainer(t testing.TB) *Trainer {
	t.Helper()
	n, err := NewNetwork(s.shape, seeded.Stream(3, "weights"))
	if err != nil {
		t.Fatal(err)
	}
	for l, w := range n.weights {
		for i := range w.Data {
			w.Data[i] *= 20
		}
		n.turn(l, 0, w.Rows)
	}
	if s.large != 0 {
		n.weights[encoderHidden].Data[0] = s.large
	}
	return newTrainer(t, n, made(s.records, s.shape.Pixels), nil, s.records, Options{Rate: 1e-3, Batch: 10, Workers: 2}, 8)
}

func (s scene) attach(t testing.TB, tr *Trainer, d cuda.Device, private bool) {
	t.Helper()
	if err := tr.Attach(d, private, max(1, sampler(t, s.sampling, s.records).MaxBatch())); err != nil {
		t.Fatal(err)
	}
}

// take computes the steps of a plan on the trainer's device and returns the noisy sums. places is
// the number of elements in the sums of a step. If it is 0, take returns nil.
func take(t testing.TB, tr *Trainer, plan Planned, places int) []int64 {
	t.Helper()
	adam := tr.adam
	var moves []float32
	for range plan.Steps() {
		move := adam.Next(tr.options.Rate, 1/tr.options.Batch)
		a, b := move.Rates()
		moves = append(moves, a, b)
	}
	var releases []int64
	if places > 0 {
		releases = make([]int64, plan.Steps()*places)
	}
	if err := tr.card.Take(plan, moves, releases); err != nil {
		t.Fatal(err)
	}
	tr.adam, tr.behind = adam, true
	tr.Sync()
	return releases
}

// A watched is a plan that keeps each noisy sum that it releases, in whole lattice steps. The sums
// are in the order in which the plan numbers its noise samples.
type watched struct {
	*dpmech.ProductPlan
	places   int
	releases []int64
	batches  []int
}

func (w *watched) Next() ([]uint32, error) {
	w.releases = append(w.releases, make([]int64, w.places)...)
	batch, err := w.ProductPlan.Next()
	w.batches = append(w.batches, len(batch))
	return batch, err
}

func (w *watched) Release(i int, dst []float32) error {
	err := w.ProductPlan.Release(i, dst)
	part := w.Parts()[i]
	layer, height := w.Layers()[part.Layer], part.To-part.From
	now := w.releases[len(w.releases)-w.places:]
	for k, x := range dst {
		row, column := part.From+k/math32.TileColumns%height, k/(height*math32.TileColumns)*math32.TileColumns+k%math32.TileColumns
		if row < layer.Inputs && column < layer.Outputs {
			now[w.Mechanism().PlanStart(part.Layer)+row*layer.PlanStride()+column] = int64(math.Round(float64(x) / w.Mechanism().Lattice().Step()))
		}
	}
	return err
}

// differences computes a plan twice: on the device, and on the CPU. On the CPU it uses dpmech and
// this package's network, which share no code with the kernels. It returns an error if the results
// differ. A noisy sum may differ by one lattice step plus 1e-5 times the clip times the number of
// records in the batch. Moments and weights must differ by less than 1e-5. For an empty batch the
// noisy sums must be equal, up to the rounding of the CPU's float32.
func (s scene) differences(t testing.TB, d cuda.Device) error {
	t.Helper()
	there, here := s.trainer(t), s.trainer(t)
	s.attach(t, there, d, true)
	places := s.mechanism(t).PlanStart(layers)
	releases := take(t, there, s.plan(t, 7), places)
	w := &watched{ProductPlan: s.plan(t, 7), places: places}
	if err := here.TakePlan(w); err != nil {
		t.Fatal(err)
	}
	for k, want := range w.releases {
		// The CPU's release is a float32, which cannot represent all large numbers of lattice
		// steps.
		most := math.Abs(float64(want)) * 0x1p-24
		if n := w.batches[k/places]; n > 0 {
			most += 1 + 1e-5*float64(n)*s.clip/w.Mechanism().Lattice().Step()
		}
		if off := math.Abs(float64(releases[k] - want)); off > most {
			return fmt.Errorf("number %d of step %d is %d, want %d within %g", k%places, k/places, releases[k], want, most)
		}
	}
	return there.differs(here, 1e-5)
}

func TestDeviceAgreesWithTheProcessor(t *testing.T) {
	for i, s := range scenes {
		if err := s.differences(t, devices[i%len(devices)]); err != nil {
			t.Errorf("%v: %v", s, err)
		}
	}
}

// The test computes a step of the d3p paper's network on a device.
func TestDeviceTakesAStepOfThePapersNetwork(t *testing.T) {
	s := scene{Shape{784, 400, 50}, 1000, poisson(0.02), 64, 1, 1e4, 0.06, 0}
	if err := s.differences(t, devices[0]); err != nil {
		t.Error(err)
	}
}

// If a record's gradient is not finite, it must add zero and must not affect other records.
func TestDeviceRecordsThatAreNotFinite(t *testing.T) {
	s := scenes[3]
	for _, s.large = range []float32{1e10, 1e30, float32(math.Inf(1)), float32(math.NaN())} {
		if err := s.differences(t, devices[0]); err != nil {
			t.Errorf("a weight of %g: %v", s.large, err)
		}
	}
}

// moved replaces one record of the scene and runs the steps on the device again with the same
// noise. It returns the Euclidean distance between the two results, divided by the sensitivity.
func (s scene) moved(t testing.TB, d cuda.Device) float64 {
	t.Helper()
	m := s.mechanism(t)
	var releases [2][]int64
	for i := range releases {
		tr := s.trainer(t)
		for j := range tr.images[5] {
			tr.images[5][j] = byte(255 * i)
		}
		s.attach(t, tr, d, true)
		releases[i] = take(t, tr, s.plan(t, 4), m.PlanStart(layers))
	}
	var squares float64
	for k, x := range releases[0] {
		off := float64(x - releases[1][k])
		squares += off * off
	}
	return math.Sqrt(squares) * m.Lattice().Step() / m.Sensitivity()
}

// If a record is replaced, a sum may change by at most twice the sensitivity. On a device that does
// not clip, it must change by more.
func TestDeviceRecordsHaveBoundedInfluence(t *testing.T) {
	s := scenes[5]
	s.steps, s.clip = 1, 10 // far below the gradients' norms, which are 40 to 200
	if by := s.moved(t, devices[0]); !(by > 0.5 && by <= 2) {
		t.Errorf("a record moves a sum by %g sensitivities", by)
	}
	careless := &faulty{Device: devices[0], launch: skip("network_clip")}
	if by := s.moved(t, careless); !(by > 2) {
		t.Errorf("without a clip a record moves a sum by %g sensitivities", by)
	}
}

// The test compares a device's gradients without privacy with the CPU's.
// TestGradientAgainstFiniteDifferences checks the latter.
func TestDeviceWithoutPrivacy(t *testing.T) {
	for i, s := range scenes {
		plan := func() Planned {
			p, err := dpmech.NewBatchPlan(s.sampling, s.records, s.steps, seeded.Stream(7, "batches"), seeded.Stream(7, "draws"))
			if err != nil {
				t.Fatal(err)
			}
			return PlannedPlain{p, NewPlain(s.shape, sampler(t, s.sampling, s.records), nil)}
		}
		there, here := s.trainer(t), s.trainer(t)
		s.attach(t, there, devices[i%len(devices)], false)
		take(t, there, plan(), 0)
		if err := here.TakePlan(plan()); err != nil {
			t.Fatal(err)
		}
		if e := max(apart(there.first[:], here.first[:]), apart(there.second[:], here.second[:])); !(e < 1e-5) {
			t.Errorf("%v: the moments on the device differ by %g from the result of the CPU", s, e)
		}
	}
}

// A device must compute the same result every time, whatever the order of its threads. Several
// plans must give the same result as one plan with all steps.
func TestDeviceRepeats(t *testing.T) {
	s := scenes[4]
	var want []float64
	for _, d := range append(devices[:len(devices):len(devices)], devices[0]) {
		tr := s.trainer(t)
		s.attach(t, tr, d, true)
		if err := tr.TakePlan(s.plan(t, 9)); err != nil {
			t.Fatal(err)
		}
		if err := tr.TakePlan(s.plan(t, 10)); err != nil {
			t.Fatal(err)
		}
		tr.Sync()
		if got := tr.network.flat(); want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("%s has other weights than before", d.Name())
		}
	}
}
