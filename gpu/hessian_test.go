package gpu

import (
	"math"
	"math/rand"
	"testing"
)

// The test compares the Hessian of every model with second differences of the log density. For
// generalised linear models it also compares the fused kernel with the general code.
func TestHessian(t *testing.T) {
	for name := range zoo {
		t.Run(name, func(t *testing.T) {
			m := build(t, name)
			rng := rand.New(rand.NewSource(2))
			table := randomTable(t, m, rng, 70, 1)
			d := m.Dim()
			theta := randomPoint(m, rng, .3)
			var results [2][]float64
			for i, engine := range []CPU{{}, {Generic: true}} {
				results[i] = make([]float64, d*(d+1)/2)
				if err := compile(t, engine, m, table).Hessian(results[i], theta, nil); err != nil {
					t.Fatal(err)
				}
			}
			if gap := distance(results[0], results[1]); gap > 1e-7 {
				t.Errorf("fused and generic Hessians differ by %g", gap)
			}
			e := compile(t, CPU{}, m, table)
			q := &Query{Draws: [][]float64{theta}, Clip: math.Inf(1)}
			value := func() float64 {
				total, err := e.Sum(nil, q)
				if err != nil {
					t.Fatal(err)
				}
				return total.LogDensity
			}
			k := 0
			for i := range d {
				for j := range i + 1 {
					// The error of the second difference is about 1e-16·|value|/h².
					want := secondDifference(theta, i, j, value)
					if math.Abs(results[0][k]-want) > 1e-3*(1+math.Abs(want))+1e-7*math.Abs(value()) {
						t.Errorf("element %d,%d: %g, differences give %g", i, j, results[0][k], want)
					}
					k++
				}
			}
		})
	}
}

func secondDifference(theta []float64, i, j int, f func() float64) float64 {
	const h = 1e-4
	at := func(a, b float64) float64 {
		oldI, oldJ := theta[i], theta[j]
		theta[i] += a * h
		theta[j] += b * h
		v := f()
		theta[i], theta[j] = oldI, oldJ
		return v
	}
	return (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * h * h)
}
