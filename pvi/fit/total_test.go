package fit

import (
	"maps"
	"math"
	"os"
	"slices"
	"testing"

	"fedpvi/gpu"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

const mostCount = 2_000_000_000

type one struct{ handed int }

func (s *one) AddRecord([]int32, []float64) error { s.handed++; return nil }

// If a solver panicked, this would reveal something about a record. So no solver may panic for a
// record within the public bounds, at any θ, although results need not be finite. mean and spread
// are the mean and the standard deviation of the cavity or of q, relative to the prior.
// FEDPVI_FAMILY limits the test to one family.
func FuzzRecord(f *testing.F) {
	var names []string
	var all []*Model
	family := study.Family(os.Getenv("FEDPVI_FAMILY"))
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if m := modelOfCounts(f, name, mostCount); family == "" || m.Study.Model.Family == family {
			names, all = append(names, name), append(all, m)
		}
	}
	if len(all) == 0 {
		f.Fatalf("no model has the family %q", family)
	}
	for k := range names {
		for _, count := range []uint32{0, 33, 400, 1_000_000, mostCount} {
			for _, at := range [][2]float64{{0, 1}, {-3, 1}, {3, 4}, {-40, .1}, {700, 1}, {-1e308, 1e-300}, {math.Inf(1), 1e300}, {math.NaN(), 1}} {
				f.Add(uint8(k), -1., 10., 2., count, uint8(1), at[0], at[1])
			}
		}
	}
	f.Fuzz(func(t *testing.T, k uint8, u, v, y float64, count uint32, class uint8, mean, spread float64) {
		name := names[int(k)%len(names)]
		m := all[int(k)%len(names)]
		records := new(shard.Records)
		records.Append([]float64{within(u, -1, 1), within(v, 0, 10), within(y, -2, 2), float64(count % (mostCount + 1)), float64(class % 3)})
		s := shard.Design(m.Study, records)
		theta := make([]float64, m.Dim())
		for i, p := range m.Parameters.All() {
			theta[i] = p.Prior.Mean + mean*p.Prior.SD
		}
		if handed := eachOf(t, m, s, theta); handed != 1 {
			t.Errorf("%s: the engine handed over %d gradients of a record", name, handed)
		}
		if m.General() {
			m.Program().LogDensities(make([]float64, 1), theta, loaded(t, m, s))
		} else {
			r := m.Regression(s)
			r.AddGradient(make([]float64, m.Dim()), theta)
			got := 0
			add := func([]float64) error { got++; return nil }
			if err := r.EachGradient(theta, add); err != nil || got != 1 {
				t.Errorf("%s: %v: %d gradients of a record", name, err, got)
			}
			if _, err := m.InformationBound(); err == nil {
				if err := r.EachInformation(theta, add); err != nil || got != 2 {
					t.Errorf("%s: %v: no information of a record", name, err)
				}
			}
		}
		for _, family := range []gaussian.Family{gaussian.Diagonal(m.Dim()), gaussian.Full(m.Dim())} {
			natural := make([]float64, family.Size())
			for i, at := range family.Precision() {
				if at[0] == at[1] {
					sd := m.Parameters.Prior(at[0]).SD * math.Abs(spread)
					natural[m.Dim()+i] = 1 / (sd * sd)
					natural[at[0]] = theta[at[0]] * natural[m.Dim()+i]
				}
			}
			q, err := solver.NewApproximation(family, natural)
			if err != nil {
				continue
			}
			if !m.General() {
				m.Regression(s).AddExpected(solver.NewExpected(family), q)
			}
			if m.General() && family.Name() == "full" {
				continue // expectation propagation does not support this model
			}
			tilted := m.Tilted(s, family, 1)
			tilted.Set(q)
			tilted.Site(make([]float64, tilted.Size()), 0)
		}
	})
}

// within limits x to the interval from low to high. It turns NaN into low.
func within(x, low, high float64) float64 {
	if x != x {
		return low
	}
	return min(max(x, low), high)
}

func eachOf(t *testing.T, m *Model, s *shard.Shard, theta []float64) int {
	t.Helper()
	var sink one
	if err := engineOf(t, m, s).Each(&gpu.Query{Draws: [][]float64{theta}, Clip: math.Inf(1)}, &sink); err != nil {
		t.Fatal(err)
	}
	return sink.handed
}

// engineOf returns the evaluator that runs a model's program on the records of a shard.
func engineOf(t *testing.T, m *Model, s *shard.Shard) gpu.Evaluator {
	t.Helper()
	engine, err := gpu.CPU{}.Compile(m.Program(), loaded(t, m, s))
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func loaded(t *testing.T, m *Model, s *shard.Shard) *model.Table {
	t.Helper()
	table, err := m.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	return table
}
