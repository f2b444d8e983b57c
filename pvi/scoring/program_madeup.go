package scoring

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/guard"
	"fedpvi/internal/special"
)

// A programMadeUp draws outcomes from the density and all other numbers from the margins.
type programMadeUp struct {
	*program
	*Problem
	x    []float64 // values in program.columns, drawn from the margins, one record after another
	base []float64 // numbers of the records for the program, outcomes included, from the margins

	information latest[*mat.SymDense]        // mean curvature of a record
	balance     latest[[]float64]            // see [programMadeUp.balances]
	outcome     latest[func(x, z []float64)] // see [program.drawer]
}

func (r *program) madeUp(p *Problem, x []float64) population {
	m := &programMadeUp{program: r, Problem: p, x: x, base: make([]float64, madeUpRecords*len(r.numbers))}
	for i := range madeUpRecords {
		r.numbersOf(m.base[i*len(r.numbers):(i+1)*len(r.numbers)], m.row(i))
	}
	return m
}

func (m *programMadeUp) row(i int) []float64 {
	n := len(m.program.columns)
	return m.x[i*n : (i+1)*n]
}

func (m *programMadeUp) inflation([]float64) float64 { return 1 }

// The function returns the mean curvature at θ times the number of real records.
func (m *programMadeUp) guess(of *margins, theta []float64) func(random []float64) *mat.SymDense {
	curvature := plus(term{of.Records, m.curvature(theta)})
	return func([]float64) *mat.SymDense { return curvature }
}

// curvature implements [population]. It returns the mean of the negative Hessians, with outcomes
// drawn at θ. A released curvature has the same mean if the columns are independent. Its
// eigenvalues are at least leastHessian, in units of the covariance of the scores plus the prior's
// precision per record. If the slope of the density jumps ([variates].kinked), the result is the
// covariance of the scores instead.
//
// The covariance is estimated by half the outer product of the difference between a record's scores
// for two draws of the outcomes. If no outcome can be drawn, it is the outer product of the score.
func (m *programMadeUp) curvature(theta []float64) *mat.SymDense {
	return m.information.at(theta, func() *mat.SymDense { return m.meanCurvature(theta) })
}

func (m *programMadeUp) meanCurvature(theta []float64) *mat.SymDense {
	d := len(m.coordinates)
	records := m.draw([][]float64{theta}, "outcomes", 0)
	rows := m.rows(theta, records)
	weight := 1.0 / madeUpRecords
	if len(m.outcomes) > 0 {
		weight /= 2
		rows.Sub(rows, m.rows(theta, m.draw([][]float64{theta}, "outcomes", 1)))
	}
	weights := m.balances(theta)
	for i, w := range weights {
		floats.Scale(math.Sqrt(w), rows.RawRowView(i))
	}
	sum := mat.NewSymDense(d, nil)
	sum.SymOuterK(weight, rows.T())
	if !m.variates.kinked {
		sum = m.hessian(theta, records, cholesky(plus(term{1, sum}, term{1, m.perRecord()})))
	}
	return sum
}

// unsurePoints is the number of points drawn for an uncertain θ ([programMadeUp.scores]).
const unsurePoints = 40

// scores implements [population]. If cov is not nil, outcomes are drawn at unsurePoints points from
// N(θ, cov), each for an equal share of the records. The mean of the scores is subtracted, as
// [programMadeUp.rows] describes.
func (m *programMadeUp) scores(theta []float64, cov *mat.SymDense, each func(i int, score []float64)) {
	points := [][]float64{theta}
	if cov != nil {
		root, d := cholesky(cov), len(theta)
		z := m.normals(unsurePoints*d, "points", 0)
		points = nil
		for n := range unsurePoints {
			move := apply(root, z[n*d:(n+1)*d])
			for i := range move {
				move[i] += theta[i]
			}
			points = append(points, move)
		}
	}
	rows := m.rows(theta, m.draw(points, "outcomes", 0))
	for i := range madeUpRecords {
		each(i, rows.RawRowView(i))
	}
}

// rows returns the scores of made-up records at θ, minus their mean. The mean is almost 0 if all
// outcomes are drawn at θ. Otherwise it depends on the choice of points and does not describe the
// records.
func (m *programMadeUp) rows(theta []float64, records *programRecords) *mat.Dense {
	d := len(theta)
	rows, mean, weights := mat.NewDense(madeUpRecords, d, nil), make([]float64, d), m.balances(theta)
	m.eachScore(theta, records, func(i int, score []float64) {
		rows.SetRow(i, score)
		for j, s := range score {
			if weights != nil {
				s *= weights[i]
			}
			mean[j] += s / madeUpRecords
		}
	})
	for i := range madeUpRecords {
		for j := range mean {
			rows.RawRowView(i)[j] -= mean[j]
		}
	}
	return rows
}

// eachScore calls each with the index and the score at θ of every record, or zeros if the score is
// not finite.
func (m *programMadeUp) eachScore(theta []float64, records *programRecords, each func(i int, score []float64)) {
	at, score := records.at(theta), make([]float64, len(theta))
	for i := range records.Len() {
		at.record(i)
		if guard.Run(func() { at.score(score) }) != nil || !special.Finite(score) {
			clear(score)
		}
		each(i, score)
	}
}

func (m *programMadeUp) drawn(theta []float64, number int) Records {
	return m.draw([][]float64{theta}, "foreseen outcomes", number)
}

// draw returns the records with outcomes drawn at the points, from public random numbers for the
// purpose and number. Each point has an equal share of the records.
func (m *programMadeUp) draw(points [][]float64, purpose string, number int) *programRecords {
	x := slices.Clone(m.base)
	m.drawerAt(points)(x, m.normals(m.sweeps()*len(m.outcomes)*madeUpRecords, purpose, number))
	return m.records(x)
}

// drawerAt returns the function of [program.drawer]. For a single point it caches the function.
func (m *programMadeUp) drawerAt(points [][]float64) func(x, z []float64) {
	if len(points) > 1 {
		return m.drawer(m.base, points)
	}
	return m.outcome.at(points[0], func() func(x, z []float64) { return m.drawer(m.base, points) })
}

// leastHessian is a lower bound that [programMadeUp.hessian] imposes on the eigenvalues of its
// result, in the units that it is given.
const leastHessian = 0.1

// hessian returns the mean of the negative Hessians at θ, with eigenvalues of at least leastHessian
// in the given units.
func (m *programMadeUp) hessian(theta []float64, records *programRecords, units *mat.TriDense) *mat.SymDense {
	d := len(theta)
	at, white, weights := records.at(theta).(*programEvaluator), newWhitening(units), m.balances(theta)
	sum, size := mat.NewDense(d, d, nil), max(1, blockOfCurvatures/(d*d))
	for from := 0; from < records.Len(); from += size {
		for i, full := range at.curvatures(from, min(from+size, records.Len()), white) {
			if full != nil && special.Finite(full) {
				if weights != nil {
					floats.Scale(weights[from+i], full)
				}
				sum.Add(sum, mat.NewDense(d, d, full))
			}
		}
	}
	sum.Scale(1/float64(records.Len()), sum)
	return bounded(sum, mat.DenseCopyOf(units), leastHessian)
}

// Both points have the same outcomes, so that chance has little effect on the difference.
func (m *programMadeUp) released(o *observation, theta []float64) (whole, removed []float64, lost *mat.Dense) {
	d := len(theta)
	white, scratch := newWhitening(o.units), make([]float64, d)
	whole, removed, lost = make([]float64, d), make([]float64, d), mat.NewDense(d, d, nil)
	records, weights := m.draw([][]float64{theta}, "outcomes", 0), m.balances(theta)
	weight := func(i int) float64 {
		w := m.Records / madeUpRecords
		if weights != nil {
			w *= weights[i]
		}
		return w
	}
	at := mat.NewDense(madeUpRecords, d, nil)
	m.eachScore(theta, records, func(i int, score []float64) {
		at.SetRow(i, score)
		floats.AddScaled(whole, -weight(i), score)
	})
	m.eachScore(o.theta, records, func(i int, score []float64) {
		floats.AddScaled(whole, weight(i), score)
		long := slices.Clone(score)
		white.apply(long, scratch)
		if n := norm(long); n > o.clip {
			w := weight(i) * (1 - o.clip/n)
			floats.AddScaled(removed, w, score)
			lost.RankOne(lost, w, mat.NewVecDense(d, slices.Clone(score)), at.RowView(i))
		}
	})
	return whole, removed, lost
}

// unknown returns less than 1 if there are effects of groups. A covariance that is too large would
// not be safe for them: effects that differ by less than their errors seem to be equal, so that
// their spread comes out too small.
func (m *programMadeUp) unknown() float64 {
	if slices.Contains(m.grouped, true) {
		return 0.1
	}
	return 1
}

func (m *programMadeUp) undrawn(theta []float64) []bool {
	out := make([]bool, madeUpRecords)
	for i := range out {
		out[i] = len(m.outcomes) == 0
	}
	for _, k := range m.outcomes {
		for i, drawn := range m.program.drawn(m.base, k, [][]float64{theta}) {
			out[i] = out[i] || !drawn
		}
	}
	return out
}
