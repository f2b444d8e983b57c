package dpmech_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"fedpvi/dpmech"
	"fedpvi/internal/special"
)

// exactRows adds rows with AddRows, and returns the sum without noise and the error of AddRows.
func exactRows(t testing.TB, m *dpmech.GaussianSum, slopes []float64, rows []int32, x []float64) ([]int64, error) {
	t.Helper()
	a := m.NewAccumulator()
	err := a.AddRows(slopes, rows, x)
	sum, failed := released(m, a)
	if (failed == nil) != (err == nil) {
		t.Fatalf("rows: %v, their release: %v", err, failed)
	}
	return sum, err
}

// checkRow checks with big integers that the contribution of slope·row is within the bound. It also
// compares this contribution with the contribution of the same vector through Add.
func checkRow(t testing.TB, m *dpmech.GaussianSum, slope float64, row []float64) {
	t.Helper()
	got, err := exactRows(t, m, []float64{slope}, []int32{0}, row)
	check(t, err)
	v := make([]float64, len(row))
	for j, x := range row {
		v[j] = slope * x
	}
	checkSensitivity(t, m, got, v)
	want := accumulated(t, m, v)
	if !special.Finite(v) && !slices.Equal(got, want) {
		t.Fatalf("%g times %v, not finite, adds %v", slope, row, got)
	}
	for j, n := range want {
		if math.Abs(float64(got[j]-n)) > 1+math.Abs(float64(n))*0x1p-18 {
			t.Fatalf("%g times %v adds %v, and the vector %v by itself %v", slope, row, got, v, want)
		}
	}
}

// The test adds vectors whose norms are on the bound, near it and far from it, for small and large
// clips. Each contribution must be within the bound.
func TestRowsAreWithinTheBound(t *testing.T) {
	for _, dim := range []int{1, 3, 14, 130} {
		for _, m := range gates(t, dim) {
			rapid.Check(t, func(r *rapid.T) {
				size := math.Exp(rapid.Float64Range(-20, 20).Draw(r, "log size"))
				row := randomVector(dim, size)
				row[rapid.IntRange(0, dim-1).Draw(r, "where")] *= rapid.SampledFrom([]float64{1, -1, 0, 1e3}).Draw(r, "by")
				norm := cmp.Or(floats.Norm(row, 2), 1)
				slope := m.Clip() / norm * rapid.SampledFrom([]float64{
					0, 1e-9, 0.3, 1 - 0x1p-41, 1, -1, 1 + 0x1p-50, 1 + 0x1p-30, -7, 1e100,
				}).Draw(r, "slope over bound")
				checkRow(t, m, slope, row)
			})
		}
	}
}

// oneByOne returns the sum of the contributions of the rows, each added alone.
func oneByOne(t testing.TB, m *dpmech.GaussianSum, slopes []float64, rows []int32, x []float64) []int64 {
	t.Helper()
	sum := make([]int64, m.Dim())
	for l := range rows {
		one, err := exactRows(t, m, slopes[l:l+1], rows[l:l+1], x)
		check(t, err)
		for j, n := range one {
			sum[j] += n
		}
	}
	return sum
}

// A row's contribution must depend only on slope and row, whatever the order and the number of
// calls.
func TestRowsHaveNoMemory(t *testing.T) {
	const dim, n = 5, 40
	for _, m := range gates(t, dim) {
		x, slopes, rows := make([]float64, 0, dim*n), make([]float64, n), make([]int32, n)
		for l := range n {
			x = append(x, randomVector(dim, math.Exp(float64(l-20)))...)
			slopes[l], rows[l] = m.Clip()*math.Cos(float64(l)), int32(l)
		}
		slopes[3], x[4*dim], x[5*dim] = math.NaN(), math.Inf(1), 1e200
		want := oneByOne(t, m, slopes, rows, x)
		slices.Reverse(slopes)
		slices.Reverse(rows)
		if got, err := exactRows(t, m, slopes, rows, x); err != nil || !slices.Equal(got, want) {
			t.Errorf("together rows add %v (%v), one by one %v", got, err, want)
		}
	}
}

func TestRowsRefused(t *testing.T) {
	m := newSum(t, ordinary)
	x := make([]float64, 9)
	for what, c := range map[string]struct {
		slopes []float64
		rows   []int32
	}{
		"a row before the first":  {[]float64{1}, []int32{-1}},
		"a row beyond the last":   {[]float64{1, 1}, []int32{0, 3}},
		"more slopes than rows":   {[]float64{1, 1}, []int32{0}},
		"fewer slopes than rows ": {[]float64{1}, []int32{0, 1}},
	} {
		if sum, err := exactRows(t, m, c.slopes, c.rows, x); err == nil || !slices.Equal(sum, []int64{0, 0, 0}) {
			t.Errorf("%s: %v, %v", what, sum, err)
		}
	}
	for what, query := range map[string]func(*dpmech.Accumulator) error{
		"more rows than records": func(a *dpmech.Accumulator) error { return a.AddRows([]float64{1, 1, 1}, []int32{0, 1, 2}, x) },
		"rows do not count as vectors": func(a *dpmech.Accumulator) error {
			return errors.Join(a.AddRows([]float64{1, 1}, []int32{0, 1}, x), a.Add([]float64{1, 2, 3}))
		},
	} {
		if err := ofTwo(query); err == nil || !strings.Contains(err.Error(), "more than 2 vectors") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The fuzzer adds rows and slopes with any bits. Every contribution must be within the bound.
func FuzzRows(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
	for _, x := range []float64{math.Inf(1), 5e-324, math.MaxFloat64, -1e154, 1e-154, 1e-140} {
		f.Add(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64([]byte{1}, math.Float64bits(x)), math.Float64bits(-x)))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) < 17 {
			t.Skip("the bytes are not a vector")
		}
		v := floatsOf(raw[1:])
		all := gates(t, len(v)-1)
		checkRow(t, all[int(raw[0])%len(all)], v[0], v[1:])
	})
}

func TestRowsAllocateNothing(t *testing.T) {
	m := newSum(t, ordinary)
	a := m.NewAccumulator()
	slopes, rows, x := []float64{1, math.NaN(), 1e-300}, []int32{0, 1, 2}, []float64{1, 2, 3, 4, 5, 6, 1e-200, 8, math.Inf(1)}
	if n := testing.AllocsPerRun(100, func() {
		a.Reset()
		check(t, a.AddRows(slopes, rows, x))
	}); n != 0 {
		t.Errorf("rows allocate %g times", n)
	}
}

// Adding rows together must give the same sum as adding them one by one. The test covers all
// numbers of rows, and rows for which the fast method is not proven.
func TestRowsTogether(t *testing.T) {
	const dim, table = 14, 50
	all := gates(t, dim)
	rapid.Check(t, func(r *rapid.T) {
		m := rapid.SampledFrom(all).Draw(r, "gate")
		n := rapid.IntRange(1, 150).Draw(r, "rows")
		x, slopes, rows := make([]float64, 0, dim*table), make([]float64, n), make([]int32, n)
		for range table {
			x = append(x, randomVector(dim, 1)...)
		}
		for l := range n {
			rows[l] = int32(rapid.IntRange(0, table-1).Draw(r, "row"))
			slopes[l] = m.Clip() * rapid.Float64Range(-3, 3).Draw(r, "slope")
		}
		if l := rapid.IntRange(0, 2*n).Draw(r, "odd one"); l < n {
			slopes[l] = rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), 1e307, 1e-320}).Draw(r, "slope of it")
		}
		want := oneByOne(t, m, slopes, rows, x)
		if got, err := exactRows(t, m, slopes, rows, x); err != nil || !slices.Equal(got, want) {
			r.Fatalf("together rows add %v (%v), one by one %v", got, err, want)
		}
	})
}
