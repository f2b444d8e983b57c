package scoring

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Constants of [balanced].
const (
	balanceRidge = 0.1 // weight of the squared length of λ in the objective of [balanced]
	balanceSteps = 30
)

// balances implements [population]. If some outcomes are drawn from the model while others, such as
// times of censoring, follow the margins, the scores at θ do not add up to 0. The scores of real
// records do if θ is their mode. Of all weights for which the scores nearly add up to 0, balances
// returns those closest to 1 in relative entropy. If no outcome can be drawn, all weights are 1.
func (m *programMadeUp) balances(theta []float64) []float64 {
	return m.balance.at(theta, func() []float64 {
		if len(m.outcomes) == 0 || !slices.Contains(m.undrawn(theta), true) {
			return nil
		}
		scores := mat.NewDense(madeUpRecords, len(theta), nil)
		m.eachScore(theta, m.draw([][]float64{theta}, "outcomes", 0), func(i int, score []float64) { scores.SetRow(i, score) })
		return balanced(scores, m.perRecord())
	})
}

// balanced returns weights with mean 1 for the rows of scores. The weight of a row s is
// proportional to exp(λᵀs), where λ minimises
//
//	log Σ exp(λᵀs) + ½ balanceRidge·λᵀVλ
//
// and V is the mean square of the rows plus ridge. Without the second term the weighted sum of the
// rows would be 0, if possible (entropy balancing: Hainmueller, "Entropy Balancing for Causal
// Effects", 2012).
func balanced(scores *mat.Dense, ridge mat.Symmetric) []float64 {
	n, d := scores.Dims()
	square := mat.NewSymDense(d, nil)
	square.SymOuterK(1/float64(n), scores.T())
	white := solved(cholesky(plus(term{1, square}, term{1, ridge})))
	var rows mat.Dense
	rows.Mul(scores, white.T())
	lambda := make([]float64, d)
	value, weights := tilted(&rows, lambda)
	for range balanceSteps {
		slope, bend := make([]float64, d), mat.NewSymDense(d, nil)
		for i, w := range weights {
			row := rows.RawRowView(i)
			for j, x := range row {
				slope[j] += w * x / float64(n)
			}
			bend.SymRankOne(bend, w/float64(n), mat.NewVecDense(d, row))
		}
		bend = plus(term{1, bend}, term{-1, outer(slope)}, term{1, diagonal(d, func(int) float64 { return balanceRidge })})
		for j, l := range lambda {
			slope[j] += balanceRidge * l
		}
		step := apply(inverse(bend), slope)
		for length := 1.0; ; length /= 2 {
			next := make([]float64, d)
			for j := range next {
				next[j] = lambda[j] - length*step[j]
			}
			to, w := tilted(&rows, next)
			if to < value || length < 1e-6 {
				lambda, value, weights = next, to, w
				break
			}
		}
		if dot(step, slope) < 1e-8 {
			break
		}
	}
	return weights
}

// tilted returns the value at λ of the objective of [balanced], and the weights there.
func tilted(rows *mat.Dense, lambda []float64) (value float64, weights []float64) {
	weights = apply(rows, lambda)
	largest := slices.Max(weights)
	var total float64
	for i, x := range weights {
		weights[i] = math.Exp(x - largest)
		total += weights[i]
	}
	for i := range weights {
		weights[i] *= float64(len(weights)) / total
	}
	return largest + math.Log(total) + balanceRidge/2*dot(lambda, lambda), weights
}
