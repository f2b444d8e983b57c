package scoring

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/guard"
	"fedpvi/internal/special"
)

// mostSteps limits the search of [programMadeUp.start].
const mostSteps = 60

// start implements [population]. The point is used in the second round, because the prior of a
// program may be so wide that predictions at its mean are far from all records. It is the posterior
// mode for made-up records whose outcomes follow the released margins.
//
// The margins are uncertain, so the log likelihood of the made-up records is multiplied by
//
//	weight = min(1, n/madeUpRecords).
//
// n is the number of real records that would determine the mean of an outcome as precisely as the
// margins do ([margins.evidence]), for the outcome with the smallest n. If no outcome can be drawn,
// n is the smallest over all numbers of a record. The prior is replaced by a normal distribution
// with the same mean and sd.
//
// The mode is found by the method of Levenberg and Marquardt, with outer products of scores in
// place of the Hessian (Berndt, Hall, Hall and Hausman, "Estimation and Inference in Nonlinear
// Structural Models", 1974). Far from the mode these products are much too large and the steps too
// short, so [programMadeUp.along] lengthens each step.
func (m *programMadeUp) start(of *margins) []float64 {
	weight := math.Inf(1)
	for k := range m.program.numbers {
		if len(m.outcomes) == 0 || slices.Contains(m.outcomes, k) {
			weight = min(weight, of.evidence(m.program.numbers[k].first))
		}
	}
	weight = min(1, weight/madeUpRecords)
	records := m.records(m.base)
	theta := slices.Clone(m.mean)
	value := m.value(records, theta, weight)
	damping := 1.0
	for range mostSteps {
		d := len(theta)
		rows, pull := mat.NewDense(madeUpRecords, d, nil), make([]float64, d)
		m.eachScore(theta, records, func(i int, score []float64) {
			rows.SetRow(i, score)
			for j, s := range score {
				pull[j] += weight * s
			}
		})
		curvature := mat.NewSymDense(d, nil)
		curvature.SymOuterK(weight, rows.T())
		for i := range d {
			pull[i] -= m.precision(i) * (theta[i] - m.mean[i])
			curvature.SetSym(i, i, (1+damping)*(curvature.At(i, i)+m.precision(i)))
		}
		next, to := m.along(records, theta, apply(inverse(curvature), pull), weight)
		if to > value {
			gain := to - value
			theta, value, damping = next, to, damping/4
			if gain < 1e-3 {
				break
			}
		} else if damping *= 4; damping > 1e8 {
			break
		}
	}
	return theta
}

// along tries θ + move, θ + 2·move, θ + 4·move and so on until [programMadeUp.value] falls. It
// returns the best point and its value.
func (m *programMadeUp) along(records *programRecords, theta, move []float64, weight float64) (best []float64, value float64) {
	value = math.Inf(-1)
	for length := 1.0; length < 1e4; length *= 2 {
		next := slices.Clone(theta)
		for i, x := range move {
			next[i] += length * x
		}
		to := m.value(records, next, weight)
		if !(to > value) {
			break
		}
		best, value = next, to
	}
	return best, value
}

// value is the objective of [programMadeUp.start]: weight times the log density of the records,
// plus that of the prior, up to a constant. It is −Inf if one is not finite.
func (m *programMadeUp) value(records *programRecords, theta []float64, weight float64) (sum float64) {
	logs := make([]float64, records.Len())
	if guard.Run(func() { m.program.model.LogDensities(logs, m.theta(theta), records.table) }) != nil || !special.Finite(logs) {
		return math.Inf(-1)
	}
	for _, l := range logs {
		sum += weight * l
	}
	for i, x := range theta {
		z := x - m.mean[i]
		sum -= m.precision(i) * z * z / 2
	}
	return sum
}
