package ep

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// project computes the same bits for a record whatever other records are computed with it, and
// wherever it is among them. Ordinary values agree with the formulas.
func TestProjectAndMatch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, n := rapid.IntRange(1, 19).Draw(rt, "d"), rapid.IntRange(1, 5).Draw(rt, "records")
		number := rapid.Custom(func(rt *rapid.T) float64 {
			if rapid.IntRange(0, 9).Draw(rt, "odd") == 0 {
				return rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e-320, 1e300, -1e300, math.Inf(1), math.NaN()}).Draw(rt, "special")
			}
			return rapid.Float64Range(-3, 3).Draw(rt, "number")
		})
		draw := func(n int, name string) []float64 { return rapid.SliceOfN(number, n, n).Draw(rt, name) }
		x, means, variances := draw(7*d, "x"), draw(d, "means"), draw(d, "variances")
		records := rapid.SliceOfN(rapid.Uint32Range(0, 6), n, n).Draw(rt, "numbers")
		got, want := make([]float64, 2*n+1), make([]float64, 2*n+1)
		project(got[:n], got[n:2*n], records, x, means, variances)
		for l, record := range records {
			project(want[l:l+1], want[n+l:n+l+1], []uint32{0}, x[int(record)*d:][:d], means, variances)
		}
		sameBits(rt, "projection", got, want)
		for l, record := range records {
			var mean, variance, size float64
			for j, e := range x[int(record)*d:][:d] {
				mean, variance = mean+e*means[j], variance+e*e*variances[j]
				size += math.Abs(e*means[j]) + math.Abs(e*e*variances[j])
			}
			if size < 1e6 && !(math.Abs(got[l]-mean)+math.Abs(got[n+l]-variance) <= 1e-14*size) {
				rt.Fatalf("projection of %d is %v and %v, want %v and %v", l, got[l], got[n+l], mean, variance)
			}
		}

		row, at := x[d:2*d], draw(3, "slopes")
		got, want = make([]float64, 2*d+1), make([]float64, 2*d+1)
		match(got[:2*d], row, variances, at[0], at[1], at[2])
		for j, e := range row {
			bend := float64(float64(at[1]*e) * e)
			stretch := 1 / (1 - float64(variances[j]*bend))
			want[j], want[d+j] = float64(at[0]*e)*stretch, float64(bend*stretch)*at[2]
		}
		sameBits(rt, "match", got, want)
	})
}

func sameBits(rt *rapid.T, name string, got, want []float64) {
	for i, x := range want {
		if math.Float64bits(got[i]) != math.Float64bits(x) && !(math.IsNaN(got[i]) && math.IsNaN(x)) {
			rt.Fatalf("%s: element %d is %v, want %v", name, i, got[i], x)
		}
	}
}
