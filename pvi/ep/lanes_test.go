package ep

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Lanes compute the same bits as the loops, wherever a record lies and whatever its values
// are.
func TestLanesHaveTheBitsOfLoops(t *testing.T) {
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
		projectOneByOne(want[:n], want[n:2*n], records, x, means, variances)
		sameBits(rt, "projection", got, want)

		row, at := x[d:2*d], draw(3, "slopes")
		got, want = make([]float64, 2*d+1), make([]float64, 2*d+1)
		match(got[:2*d], row, variances, at[0], at[1], at[2])
		matchOneByOne(want[:2*d], row, variances, at[0], at[1], at[2])
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
