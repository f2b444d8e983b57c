package scoring

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/guard"
	"fedpvi/internal/special"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// A Totals computes the gradient and the Fisher information of all records of a client, for a study
// with the unit client and a program. The density of records must depend on all coordinates of θ.
type Totals struct {
	*program
	prior prior
	units *mat.TriDense // units of the finite differences for curvatures
}

// NewTotals returns the Totals of a study. madeUp holds synthetic records, whose outcomes are not
// read. normals returns public standard normal numbers.
func NewTotals(st *study.Study, m *fit.Model, madeUp *shard.Shard, normals func(n int) []float64) (*Totals, error) {
	p := new(Problem)
	if err := p.takeProgram(st, m); err != nil {
		return nil, err
	}
	t := &Totals{program: p.model.(*program), prior: p.prior}
	return t, t.setUnits(madeUp, normals)
}

// Prior returns the mean and the covariance of the prior of θ, which need not be normal.
func (t *Totals) Prior() (mean []float64, cov *mat.SymDense) { return t.prior.Moments() }

// Draw returns a draw from the prior as a function of z, a standard normal number for each
// coordinate.
func (t *Totals) Draw(z []float64) []float64 { return t.prior.Draw(z) }

// setUnits sets the units of finite differences. In them, the precision of the prior plus the
// covariance of the score of a synthetic record at the prior mean is the identity. The covariance
// is half the outer product of the difference between the scores for two draws of a record's
// outcomes.
func (t *Totals) setUnits(madeUp *shard.Shard, normals func(n int) []float64) error {
	mean, cov := t.Prior()
	var scores [2]*mat.Dense
	for i := range scores {
		all, err := t.Redraw(madeUp, mean, normals)
		if err != nil {
			return err
		}
		scores[i] = mat.NewDense(madeUp.Len(), len(mean), nil)
		all.eachScore(mean, func(k int, score []float64) { scores[i].SetRow(k, score) })
	}
	weight := 1 / float64(madeUp.Len())
	if len(t.outcomes) > 0 {
		weight /= 2
		scores[0].Sub(scores[0], scores[1])
	}
	square := mat.NewSymDense(len(mean), nil)
	square.SymOuterK(weight, scores[0].T())
	t.units = cholesky(plus(term{1, square}, term{1, inverse(cov)}))
	return nil
}

// Open returns the records of a shard.
func (t *Totals) Open(s *shard.Shard) (*Total, error) {
	records, err := t.program.open(s)
	if err != nil {
		return nil, err
	}
	return &Total{t, records.(*programRecords)}, nil
}

// Redraw returns the records of a shard with outcomes drawn from the model at θ. It moves all
// numbers to the nearest possible value.
func (t *Totals) Redraw(s *shard.Shard, theta []float64, normals func(n int) []float64) (*Total, error) {
	var x []float64
	for i := range s.Len() {
		row, _ := s.Record(i)
		for k := range t.numbers {
			x = append(x, t.numbers[k].inside(row[k]))
		}
	}
	t.drawer(slices.Clone(x), [][]float64{theta})(x, normals(t.sweeps()*len(t.outcomes)*s.Len()))
	table, err := t.load(x)
	return &Total{t, &programRecords{t.program, x, table}}, err
}

// A Total has the records of a client.
type Total struct {
	totals  *Totals
	records *programRecords
}

// Len returns the number of records.
func (t *Total) Len() int { return t.records.Len() }

// eachScore calls each with the index and the score at θ of every record with a finite score.
func (t *Total) eachScore(theta []float64, each func(i int, score []float64)) {
	at, score := t.records.at(theta), make([]float64, len(theta))
	for i := range t.Len() {
		at.record(i)
		if guard.Run(func() { at.score(score) }) == nil && special.Finite(score) {
			each(i, score)
		}
	}
}

// Gradient returns the gradient of the log likelihood of all records at θ, without those that
// eachScore leaves out.
func (t *Total) Gradient(theta []float64) []float64 {
	gradient := make([]float64, len(theta))
	t.eachScore(theta, func(_ int, score []float64) { floats.Add(gradient, score) })
	return gradient
}

// mostModeSteps limits the steps of [Total.Mode].
const mostModeSteps = 30

// Mode returns a point near the posterior mode of the records under a normal prior. It uses the
// method of Levenberg and Marquardt, with the Fisher information in place of the Hessian.
func (t *Total) Mode(mean []float64, precision *mat.SymDense) []float64 {
	theta, damping := slices.Clone(mean), 1e-2
	best := t.value(theta, mean, precision)
	for range mostModeSteps {
		gradient, information := t.Score(theta)
		gap := slices.Clone(theta)
		floats.Sub(gap, mean)
		floats.Sub(gradient, apply(precision, gap))
		var to []float64
		for ; damping < 1e8; damping *= 8 {
			curvature := plus(term{1, information}, term{1, precision})
			for i := range theta {
				curvature.SetSym(i, i, (1+damping)*curvature.At(i, i))
			}
			to = apply(inverse(curvature), gradient)
			floats.Add(to, theta)
			if next := t.value(to, mean, precision); next.above(best) {
				arrived := next.out == best.out && next.sum-best.sum < 1e-2
				theta, best, damping = to, next, damping/8
				if arrived {
					return theta
				}
				break
			}
		}
		if damping >= 1e8 {
			break
		}
	}
	return theta
}

// A value compares points in the search for the mode. out counts the records without a finite
// density. sum is the log density of the others and of a normal prior, up to a constant.
type value struct {
	out int
	sum float64
}

// above reports whether v is better than w: it has a smaller out or, if these are equal, a larger
// sum.
func (v value) above(w value) bool { return v.out < w.out || v.out == w.out && v.sum > w.sum }

func (t *Total) value(theta, mean []float64, precision *mat.SymDense) (v value) {
	logs := make([]float64, t.Len())
	t.totals.eachDensity(t.totals.model, logs, t.records.x, theta, t.Len())
	for _, l := range logs {
		if math.IsInf(l, -1) {
			v.out++
		} else {
			v.sum += l
		}
	}
	gap := slices.Clone(theta)
	floats.Sub(gap, mean)
	v.sum -= dot(gap, apply(precision, gap)) / 2
	return v
}

// Score returns the gradient of the log likelihood of all records at θ, and the sum of their
// curvatures ([programEvaluator.expected]). A record whose numbers are not finite adds 0. Negative
// eigenvalues of the sum are replaced by 0.
func (t *Total) Score(theta []float64) (gradient []float64, information *mat.SymDense) {
	d, units := len(theta), t.totals.units
	gradient = t.Gradient(theta)
	at, white := t.records.at(theta).(*programEvaluator), newWhitening(units)
	sum := mat.NewDense(d, d, nil)
	size := max(1, min(blockOfScores, blockOfCurvatures/(d*d)))
	for from := 0; from < t.Len(); from += size {
		for _, full := range at.expected(from, min(from+size, t.Len()), white) {
			if full != nil && special.Finite(full) {
				sum.Add(sum, mat.NewDense(d, d, full))
			}
		}
	}
	return gradient, bounded(sum, units, 0)
}

// bounded returns L S Lᵀ, where L is units and S the symmetric part of A, with eigenvalues of at
// least least.
func bounded(a *mat.Dense, units mat.Matrix, least float64) *mat.SymDense {
	vectors, values := decomposed(symmetric(a))
	var root mat.Dense
	root.Mul(units, vectors)
	return congruent(&root, diagonal(len(values), func(i int) float64 { return max(values[i], least) }))
}
