package tape

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

// The product of a row with a vector has the same bits whether it is computed alone or together
// with other rows, in any position.
func TestRowsProductsAgree(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	const table = 20
	for d := 1; d < 40; d++ {
		x, v := make([]float64, table*d), make([]float64, d)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		for n := range 14 {
			rows := make([]int32, n)
			for l := range rows {
				rows[l] = int32(rng.Intn(table))
			}
			got, plain := make([]float64, n), make([]float64, n)
			DotRows(got, x, rows, v)
			fours := dotFoursOneByOne(plain, x, rows, v)
			if fours != n&^3 {
				t.Fatalf("%d of %d rows are done by fours", fours, n)
			}
			for l, row := range rows {
				want := dotTwoStrands(x[int(row)*d:][:d], v)
				if d > 1 && l < fours && math.Float64bits(plain[l]) != math.Float64bits(want) || math.Float64bits(got[l]) != math.Float64bits(want) {
					t.Fatalf("product %d of %d with %d elements: %v in lanes, %v by fours, %v by itself", l, n, d, got[l], plain[l], want)
				}
			}
		}
	}
}

// Each element has the same bits as the operation on two single numbers. The test tries slices of
// many lengths.
func TestArithmetic(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	for n := range 70 {
		x := make([][]float64, 3)
		for k := range x {
			for range n {
				x[k] = append(x[k], math.Exp(20*rng.NormFloat64())*(2*rng.Float64()-1))
			}
		}
		for name, f := range map[string]struct {
			all func(dst, a, b []float64)
			one func(dst, a, b float64) float64
		}{
			"sum":        {sums, func(_, a, b float64) float64 { return a + b }},
			"difference": {differences, func(_, a, b float64) float64 { return a - b }},
			"product":    {products, func(_, a, b float64) float64 { return a * b }},
			"added":      {addProducts, func(dst, a, b float64) float64 { return dst + float64(a*b) }},
		} {
			got := slices.Clone(x[0])
			f.all(got, x[1], x[2])
			for l := range got {
				if want := f.one(x[0][l], x[1][l], x[2][l]); math.Float64bits(got[l]) != math.Float64bits(want) {
					t.Errorf("%s, element %d of %d: %g, want %g", name, l, n, got[l], want)
				}
			}
		}
	}
}
