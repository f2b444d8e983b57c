package dpmech_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/accountant"
	"fedpvi/dpmech"
)

var aggregates = dpmech.Config{
	Dim: 3, Clip: 2, NoiseMultiplier: 5, Shares: 1, Terms: 10, Releases: 20, Adjacency: accountant.AddRemove, Aggregates: true,
}

// A sum of aggregates is a sum of vectors that are each computed from many records. Its sensitivity
// must be 2C under every adjacency: removing one record may turn an aggregate into any other vector
// of norm at most C, and two opposite vectors are 2C apart.
func TestAggregatesCostTwiceTheClip(t *testing.T) {
	m := newSum(t, aggregates)
	for _, adjacency := range []accountant.Adjacency{accountant.AddRemove, accountant.ZeroOut, accountant.ReplaceOne} {
		here, there := exactSum(t, m, []float64{9, 0, 0}, []float64{0, 1, 0}), exactSum(t, m, []float64{-9, 0, 0}, []float64{0, 1, 0})
		for i, n := range there {
			here[i] -= n
		}
		far, _ := normSquared(here).Float64()
		got := m.EventFor(1, adjacency).(accountant.DiscreteGaussian).Sensitivity
		if got < math.Sqrt(far) || got != 2*math.Floor(m.Clip()/m.Lattice().Step()) {
			t.Errorf("%s: sensitivity %g, the sums are %g apart, 2C is %g", adjacency, got, math.Sqrt(far), 2*m.Clip()/m.Lattice().Step())
		}
	}
}

// AddKeeping must add the same integers to a sum as Add, and must store a copy of them.
func TestAddKeeping(t *testing.T) {
	m := newSum(t, aggregates)
	rapid.Check(t, func(t *rapid.T) {
		vectors := rapid.SliceOfN(rapid.SliceOfN(rapid.Float64(), 3, 3), 0, 10).Draw(t, "vectors")
		a, kept, total := m.NewAccumulator(), make([]int64, 3), make([]int64, 3)
		for _, v := range vectors {
			check(t, a.AddKeeping(kept, v))
			checkSensitivity(t, m, kept, v)
			for i, n := range kept {
				total[i] += n
			}
		}
		want := accumulated(t, m, vectors...)
		if sum, err := released(m, a); err != nil || !slices.Equal(sum, want) || !slices.Equal(sum, total) {
			t.Fatalf("the sum is %v, of Add %v, of the copies %v (%v)", sum, want, total, err)
		}
	})
	for _, bad := range [][2]int{{2, 3}, {3, 2}} {
		a := m.NewAccumulator()
		if a.AddKeeping(make([]int64, bad[0]), make([]float64, bad[1])) == nil {
			t.Errorf("no error for a copy of %d and a vector of %d elements", bad[0], bad[1])
		}
	}
}
