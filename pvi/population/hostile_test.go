package population

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
)

// A coordinator opens random sums of any size. Each sum is either refused, or leads to a finite
// query whose answers have norm at most 1.
func TestHostileSums(t *testing.T) {
	refused := 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 6))
		d, rounds := 1+r.IntN(3), 4
		s := &Setting{
			Mean: make([]float64, d), Precision: scaledUnit(d, math.Exp(3*r.NormFloat64())), Records: 20, Clients: 5,
			Weights: []float64{.7, .8, .9, 1}, Noise: math.Exp(2 * r.NormFloat64()), Pooled: r.IntN(2) == 0, Skewed: r.IntN(2) == 0,
		}
		state, ok := New(s)
		if !ok {
			t.Fatal("the prior is not proper")
		}
		for number := 1; number <= rounds; number++ {
			sum := make([]float64, Size(d, nil))
			size := math.Exp2(120*r.Float64() - 40)
			for i := range sum {
				sum[i] = size * (2*r.Float64() - 1)
			}
			next, ok := state.Next(number, 1+r.IntN(5), sum)
			if !ok {
				refused++
				continue
			}
			state = next
			if number == rounds {
				break
			}
			q := state.Query(number + 1)
			if !special.Finite(q.Point) || !special.Finite(q.Curvature.RawSymmetric().Data) || !special.Finite([]float64{q.Clip, q.CurvatureClip}) || !(q.Clip > 0) || !(q.CurvatureClip > 0) {
				t.Errorf("seed %d, round %d: the query is %+v", seed, number, q)
			}
			v := make([]float64, Size(d, nil))
			g := make([]float64, d)
			for i := range g {
				g[i] = q.Clip * math.Exp(5*r.NormFloat64())
			}
			q.Vector(v, g, scaledUnit(d, math.Exp(5*r.NormFloat64())))
			if length := mat.Norm(mat.NewVecDense(len(v), v), 2); length > 1+1e-12 {
				t.Errorf("seed %d, round %d: a vector has norm %g", seed, number, length)
			}
		}
	}
	t.Log(refused, "refused")
}
