package dpmech_test

import (
	"math"
	"math/big"
	"testing"
)

// The test clips vectors whose norm is slightly above the bound. The results must be within the
// bound. Without a margin, the factor would scale the vectors exactly to the bound, and rounding
// could make them longer.
func TestGateKeepsItsMargins(t *testing.T) {
	for _, m := range gates(t, 2) {
		step := m.Lattice().Step()
		bound, _ := new(big.Float).SetInt(clipSteps(m)).Float64()
		for times := 1.0; times < 40; times++ {
			for _, v := range [][]float64{{bound, 1}, {-1, bound}, {bound - 1, math.Floor(math.Sqrt(2*bound)) + 1}} {
				short := []float64{v[0] * step, v[1] * step}
				long := []float64{times * short[0], times * short[1]}
				checkSensitivity(t, m, accumulated(t, m, long), long)
				for _, slope := range []float64{times, 1 / times, -times} {
					checkRow(t, m, slope, short)
					checkRow(t, m, slope, long)
				}
			}
		}
	}
}

// The test clips a long vector with one large element and a quarter of a million small ones, whose
// squares get lost in a floating-point sum. The margins do not cover such a large rounding error:
// the computed norm may be within the bound although the exact norm is not.
func TestGateOfElementsThatVanish(t *testing.T) {
	const dim = 1 << 20
	cfg := ordinary
	cfg.Dim, cfg.NoiseMultiplier, cfg.Releases = dim, .00391, 1
	m := newSum(t, cfg)
	step := m.Lattice().Step()
	bound, _ := new(big.Float).SetInt(clipSteps(m)).Float64()
	target := bound * bound * (1 - 1.01*0x1p-38)
	v := make([]float64, dim) // elements in lattice steps; every fourth one goes to the same partial sum of squares
	v[0] = math.Floor(math.Sqrt(target))
	v[1] = math.Floor(math.Sqrt(target - v[0]*v[0]))
	computed, exact := v[0]*v[0], new(big.Int)
	for i := 4; i < dim; i += 4 {
		v[i] = math.Floor(math.Sqrt(bound * bound * 0x1p-55))
		computed += v[i] * v[i]
	}
	for i, x := range v {
		n := big.NewInt(int64(x))
		exact.Add(exact, n.Mul(n, n))
		v[i] = step * x
	}
	if most := clipSteps(m); computed != math.Floor(math.Sqrt(target))*math.Floor(math.Sqrt(target)) || exact.Cmp(most.Mul(most, most)) <= 0 {
		t.Fatal("too few squares vanish")
	}
	checkSensitivity(t, m, accumulated(t, m, v), "a vector of elements that vanish")
	got, err := exactRows(t, m, []float64{1}, []int32{0}, v)
	check(t, err)
	checkSensitivity(t, m, got, "a row of elements that vanish")
}

// The test adds products of slopes and rows of any size. Their squares and products may underflow
// or overflow. Assembly and Go code must agree.
func TestRowsOfAnySize(t *testing.T) {
	slopes := []float64{0, math.Copysign(0, -1), 5e-324, 1e-200, 1, -1e30, 1e200, -1.7e308, math.Inf(1), math.NaN()}
	sizes := []float64{0, 5e-324, -1e-310, 1e-200, 1e-155, -1e-135, 1, 1e150, -1e155, 1e200, 1.7e308, math.NaN(), math.Inf(-1)}
	for _, dim := range []int{1, 5} {
		for k, m := range gates(t, dim) {
			if k%4 != 0 {
				continue
			}
			for _, slope := range slopes {
				for _, a := range sizes {
					for _, b := range sizes {
						row := make([]float64, dim)
						row[0], row[dim-1] = a, b
						checkRow(t, m, slope, row)
					}
				}
			}
		}
	}
}
