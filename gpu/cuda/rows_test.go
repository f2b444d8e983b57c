//go:build emulator || cuda

package cuda

import (
	"math"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// uniform returns a number in [−1, 1).
func uniform(src *dpmech.Stream) float64 { return float64(int64(src.Uint64())>>10) * 0x1p-53 }

// sumHere adds up clipped rows on the CPU, with the dimension and the clip of m. It returns the
// integer sum before noise is added, which a device's sum must equal.
func sumHere(t *testing.T, m *dpmech.SampledSum, slopes []float64, rows []int32, x []float64) []int64 {
	t.Helper()
	gate, err := dpmech.NewGaussianSum(dpmech.Config{
		Dim: m.Dim(), Clip: m.Clip(), NoiseMultiplier: m.NoiseMultiplier(), Shares: 1, Terms: max(len(rows), 1), Releases: 1, Adjacency: m.Adjacency(),
	})
	if err != nil {
		t.Fatal(err)
	}
	a := gate.NewAccumulator()
	if err := a.AddRows(slopes, rows, x); err != nil {
		t.Fatal(err)
	}
	var noise dpmech.Noise
	gate.Draw(&noise, seeded.Stream(1, "noise"))
	noisy, sum := make([]int64, m.Dim()), make([]int64, m.Dim())
	if err := gate.ReleaseSum(noisy, sum, &noise, a); err != nil {
		t.Fatal(err)
	}
	return sum
}

// For blocks with any number of threads, clipped sums of rows must be the same integers on the
// device as in the CPU's mechanism.
func TestSumsOfRowsAreThoseOfTheGate(t *testing.T) {
	src := seeded.Stream(1, "rows")
	for i, c := range []struct{ count, dim, threads int }{
		{0, 1, 32}, {0, 7, 256}, {1, 1, 32}, {1, 130, 64}, {2, 3, 32}, {31, 5, 96}, {195, 14, 256}, {196, 108, 256}, {1000, 33, 1024}, {777, 300, 128}, {5, 1024, 256},
	} {
		for _, clip := range []float64{0.01, 3, 1e6} {
			m := mechanism(t, dpmech.FullBatch{}, 1200, 1, c.dim, clip, 2)
			const table = 1200
			x := make([]float64, table*c.dim)
			for k := range x {
				x[k] = uniform(src)
			}
			slopes, rows, records := make([]float64, c.count), make([]int32, c.count), make([]uint64, c.count)
			for l := range slopes {
				slopes[l] = uniform(src) * math.Exp(8*uniform(src))
				rows[l] = int32(src.Uint64n(table))
				records[l] = uint64(rows[l])
			}
			if c.count > 3 {
				slopes[0], slopes[1], slopes[2] = math.NaN(), math.Inf(-1), math.Copysign(0, -1)
			}
			want := sumHere(t, m, slopes, rows, x)
			d := devices[i%len(devices)]
			got := output(t, d, c.dim, "sum_rows", 1, c.threads, max(c.threads/c.dim, 1)*c.dim+c.threads+c.threads/2,
				put(t, d, wordsOf(t, plan(t, m, 1))), put(t, d, appendFloats(nil, x)), put(t, d, appendFloats([]uint64{}, slopes)), put(t, d, records), uint64(c.count))
			for j, n := range want {
				if int64(got[j]) != n {
					t.Fatalf("%d records of %d numbers, clip %g: coordinate %d adds up to %d, want %d", c.count, c.dim, clip, j, int64(got[j]), n)
				}
			}
		}
	}
}

// For any slope, the norm of a row's contribution must not exceed the clip. If row times slope is
// not finite, or its squared norm is not, the contribution must be zero.
func TestNoRowAddsMoreThanTheClip(t *testing.T) {
	sizes := []float64{0, math.Copysign(0, -1), 5e-324, 1e-310, 1e-200, 1e-150, 1e-30, 1, 3, 1e30, 1e150, 1e160, 1.7e308, math.Inf(1), math.NaN()}
	d := devices[0]
	for _, clip := range []float64{0.3, 1 << 20} {
		m := mechanism(t, dpmech.FullBatch{}, 1, 1, 2, clip, 0.5)
		words := put(t, d, wordsOf(t, plan(t, m, 1)))
		limit := clip / m.Lattice().Step()
		memory := put(t, d, make([]uint64, 6)) // memory for the sum, the row, the slope and the record
		sum := make([]uint64, 2)
		for _, slope := range sizes {
			for _, a := range sizes {
				for _, b := range sizes {
					if err := d.Write(memory, append(appendFloats([]uint64{0, 0}, []float64{a, -b, -slope}), 0)); err != nil {
						t.Fatal(err)
					}
					if err := d.Launch("sum_rows", 1, 32, 8*(2*16+48), memory, words, memory+16, memory+32, memory+40, 1); err != nil {
						t.Fatal(err)
					}
					if err := d.Read(sum, memory); err != nil {
						t.Fatal(err)
					}
					x, y := float64(int64(sum[0])), float64(int64(sum[1]))
					if math.Hypot(x, y) > limit {
						t.Errorf("slope %g, row (%g, %g): adds (%g, %g), the clip is %g", slope, a, -b, x, y, limit)
					}
					if s := a + b + slope; (math.IsNaN(s) || math.IsInf(s, 0)) && (x != 0 || y != 0) {
						t.Errorf("slope %g, row (%g, %g) is not finite and adds (%g, %g)", slope, a, -b, x, y)
					}
				}
			}
		}
	}
}
