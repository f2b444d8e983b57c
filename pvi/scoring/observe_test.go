package scoring

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// widen raises a standard deviation until it covers the error in four fifths of the draws, or until
// it equals that of the prior. It never lowers one, and correlations stay the same.
func TestWiden(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	const d, draws = 4, 30
	for range 200 {
		cov, prior := randomDefinite(d, r), randomDefinite(d, r)
		before := mat.NewSymDense(d, nil)
		before.CopySym(cov)
		squares := make([][]float64, d)
		for i := range squares {
			for range draws {
				squares[i] = append(squares[i], before.At(i, i)*math.Exp(r.NormFloat64()))
			}
		}
		m := mixture{mean: make([]float64, d), cov: cov}
		m.widen(squares, prior)
		for i := range d {
			covered, variance := 0, m.cov.At(i, i)
			for _, s := range squares[i] {
				if s <= variance*(1+1e-12) {
					covered++
				}
			}
			if limited := variance > prior.At(i, i)*(1-1e-12); variance < before.At(i, i)*(1-1e-12) || covered < draws*4/5 && !limited {
				t.Errorf("variance %g, before %g, prior's %g, holds %d of %d", variance, before.At(i, i), prior.At(i, i), covered, draws)
			}
			if variance > max(before.At(i, i), prior.At(i, i))*(1+1e-12) {
				t.Errorf("variance %g is larger than the prior's %g and than %g before", variance, prior.At(i, i), before.At(i, i))
			}
			for j := range i {
				was := before.At(i, j) / math.Sqrt(before.At(i, i)*before.At(j, j))
				if is := m.cov.At(i, j) / math.Sqrt(variance*m.cov.At(j, j)); math.Abs(is-was) > 1e-12 {
					t.Errorf("correlation %g was %g", is, was)
				}
			}
		}
	}
}
