package tape

import (
	"math"
	"math/rand"
	"testing"
)

// The product of a row with a vector has the same bits whether the row is computed alone or
// together with other rows, in any position.
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
