package scoring_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/scoring"
)

// releasedSum returns a random sum, in lattice steps: a vector at most as long as the records'
// clips together, plus noise.
func releasedSum(r *rand.Rand, p *scoring.Problem, round int, records, sd float64) []int64 {
	direction, squares := make([]float64, p.Size(round)), 0.0
	for i := range direction {
		if r.IntN(3) > 0 {
			direction[i] = r.NormFloat64()
		}
		squares += direction[i] * direction[i]
	}
	size := records * p.Clip(round) * math.Pow(10, -3*r.Float64()) / math.Sqrt(squares)
	sum := make([]int64, len(direction))
	for i, x := range direction {
		sum[i] = int64((size*x + sd*r.NormFloat64()) / step)
	}
	return sum
}

// After any sum, the posterior is proper, and each sd exceeds .005 times the prior sd. Both models
// have cut points, and one has groups.
func TestEveryReleaseHasAPosterior(t *testing.T) {
	const records, clients, multiplier, rounds = 4000, 5, 3.73, 2
	for _, name := range []string{"ordered-groups", "cumulative"} {
		w := formulaWorld(t, formulaOf(name), records, multiplier, 1)
		_, before := w.Begin().Posterior()
		for _, seed := range []uint64{10, 13} {
			r, s, sd := rand.New(rand.NewPCG(seed, 31)), w.Begin(), w.Multiplier(multiplier)
			for round := 1; round <= rounds; round++ {
				var err error
				if s, err = s.Step(round, clients, releasedSum(r, w.Problem, round, records, sd*math.Sqrt(clients)), step, sd/step); err != nil {
					t.Fatalf("%s, seed %d, round %d: %v", name, seed, round, err)
				}
				mean, cov := s.Posterior()
				for i, x := range mean {
					if ratio := math.Sqrt(cov.At(i, i) / before.At(i, i)); math.IsNaN(x) || math.IsInf(x, 0) || !(ratio > 0.005) || math.IsInf(ratio, 1) {
						t.Errorf("%s, seed %d, round %d: coordinate %d is %g with %g times the prior's sd", name, seed, round, i, x, ratio)
					}
				}
				var c mat.Cholesky
				if !c.Factorize(cov) {
					t.Errorf("%s, seed %d, round %d: the covariance is not positive definite", name, seed, round)
				}
			}
		}
	}
}
