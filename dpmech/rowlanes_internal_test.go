package dpmech

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawnRows draws the arguments for a call to AddRows: a table x with rows of d numbers, a list of
// row numbers with repetitions, and a slope for each row in the list. Some products of slope and
// row are within the clip, and some exceed it.
func drawnRows(r *rapid.T) (x, slopes []float64, rows []int32, d int) {
	d = rapid.IntRange(1, 40).Draw(r, "columns")
	n := rapid.IntRange(1, rowsAtOnce).Draw(r, "rows")
	x, slopes, rows = make([]float64, 50*d), make([]float64, n), make([]int32, n)
	for i := range x {
		x[i] = rapid.OneOf(rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{0, 1, -1, 0x1p-52})).Draw(r, "element")
	}
	for l := range rows {
		rows[l] = rapid.Int32Range(0, 49).Draw(r, "row")
		slopes[l] = rapid.OneOf(rapid.Float64Range(-2, 2), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e-300, -1e100})).Draw(r, "slope")
	}
	return x, slopes, rows, d
}

func TestRowLanesAgree(t *testing.T) {
	lattice, err := NewLattice(20)
	check(t, err)
	rapid.Check(t, func(r *rapid.T) {
		x, slopes, rows, d := drawnRows(r)
		g := newGate(lattice, rapid.Int64Range(1, 1<<maxClipBits).Draw(r, "clip"))
		got, want := make([]float64, len(rows)), make([]float64, len(rows))
		sumsOfSquares(got, rows, x, d)
		sumsOfSquaresPlain(want, rows, x, d)
		if !slices.Equal(got, want) {
			r.Fatalf("squared norms %v in lanes, %v one by one", got, want)
		}
		if !g.factors(got, slopes) {
			return
		}
		sum := make([]int64, d, d+1)
		for j := range sum {
			sum[j] = rapid.Int64().Draw(r, "sum")
		}
		apart := slices.Clone(sum)
		addTruncatedRows(sum, got, rows, x)
		addTruncatedRowsPlain(apart, got, rows, x)
		if !slices.Equal(sum, apart) {
			r.Fatalf("rows add up to %v in lanes, %v one by one", sum, apart)
		}
	})
}

// The test covers two limits: as many rows of the largest norm as one call can add, and rows at the
// end of a table.
func TestRowLanesAtTheirLimits(t *testing.T) {
	for d := 1; d <= 33; d++ {
		x := make([]float64, 2*d)
		for j := range x {
			x[j] = 1
		}
		rows, factors := make([]int32, rowsAtOnce), make([]float64, rowsAtOnce)
		for l := range rows {
			rows[l], factors[l] = int32(l%2), -(1 << maxClipBits)
		}
		all := make([]int64, d+2)
		addTruncatedRows(all[1:d+1], factors, rows, x)
		for j, n := range all {
			want := int64(-rowsAtOnce << maxClipBits)
			if j == 0 || j == d+1 {
				want = 0
			}
			if n != want {
				t.Fatalf("%d columns: element %d is %d, want %d", d, j-1, n, want)
			}
		}
	}
}
