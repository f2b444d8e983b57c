package scoring

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The weights from balanced are positive, have mean 1, and bring the weighted mean of the rows near
// 0. If all rows are equal, all weights are 1.
func TestBalancedWeights(t *testing.T) {
	const n, d = 500, 3
	r := rand.New(rand.NewPCG(1, 1))
	none := diagonal(d, func(int) float64 { return 1e-6 })
	for _, spread := range []float64{0, 0.01, 1, 100} {
		rows := mat.NewDense(n, d, nil)
		for i := range n {
			for j := range d {
				rows.Set(i, j, 0.5*float64(j)+spread*r.NormFloat64())
			}
		}
		weights := balanced(rows, none)
		var total, off, before float64
		for i, w := range weights {
			total += w / n
			off += w * rows.At(i, d-1) / n
			before += rows.At(i, d-1) / n
			if !(w > 0) || spread == 0 && math.Abs(w-1) > 1e-9 {
				t.Fatalf("spread %g: weight %d is %g", spread, i, w)
			}
		}
		if math.Abs(total-1) > 1e-9 || spread >= 1 && math.Abs(off) > 0.3*math.Abs(before) {
			t.Errorf("spread %g: the weights have the mean %g, and the mean of the rows changes from %.3g to %.3g", spread, total, before, off)
		}
	}
}
