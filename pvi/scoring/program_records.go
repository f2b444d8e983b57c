package scoring

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/gpu"
	"fedpvi/pvi/model"
	"fedpvi/pvi/shard"
)

type programRecords struct {
	*program
	x     []float64 // numbers of the records, one record after another
	table *model.Table
}

func (r *program) open(s *shard.Shard) (Records, error) {
	var x []float64
	for i := range s.Len() {
		row, _ := s.Record(i)
		x = append(x, row...)
	}
	table, err := r.load(x)
	return &programRecords{r, x, table}, err
}

// records returns records with the numbers x, which must be within their bounds.
func (r *program) records(x []float64) *programRecords {
	table, err := r.load(x)
	if err != nil {
		panic("scoring: " + err.Error()) // unreachable: all numbers are within their bounds
	}
	return &programRecords{r, x, table}
}

func (r *programRecords) Len() int { return r.table.Rows }

func (r *programRecords) at(point []float64) evaluator {
	engine, err := gpu.CPU{}.Compile(r.model, r.table)
	if err != nil {
		panic("scoring: " + err.Error()) // unreachable: a study is refused if package gpu cannot run its program
	}
	d := len(r.coordinates)
	return &programEvaluator{
		programRecords: r, engine: engine, point: point, theta: r.theta(point), x: make([]float64, len(r.columns)),
		square: mat.NewSymDense(d, nil), moved: make([]float64, d),
	}
}

// A programEvaluator computes a block of records at once, which saves time.
type programEvaluator struct {
	*programRecords
	engine gpu.Evaluator
	point  []float64
	theta  []float64 // θ of the program at the point
	x      []float64
	i      int // index of the selected record

	scores blockOf
	curved blockOf
	square *mat.SymDense // curvature of the selected record
	moved  []float64     // scratch
}

// A blockOf holds the gradient of each record of a block, or the rows of its curvature before that
// is made symmetric. It is nil for a record that panicked.
type blockOf struct {
	first int
	of    [][]float64
}

// blockOfScores is in records, and blockOfCurvatures in elements of curvatures.
const (
	blockOfScores     = 256
	blockOfCurvatures = 1 << 20
)

func (e *programEvaluator) record(i int) { e.i = i }

func (e *programEvaluator) margins() []float64 {
	n := len(e.numbers)
	e.values(e.x, e.programRecords.x[e.i*n:(e.i+1)*n])
	return e.x
}

func (e *programEvaluator) residual() float64 { panic("scoring: a program has no residuals") }

func (e *programEvaluator) score(dst []float64) {
	if b := e.i / blockOfScores * blockOfScores; e.scores.of == nil || e.scores.first != b {
		e.scores = blockOf{b, e.gradients(b, min(b+blockOfScores, e.Len()), e.theta)}
	}
	g := e.scores.of[e.i-e.scores.first]
	if g == nil {
		panic("scoring: the score of a record panicked")
	}
	copy(dst, g)
}

// gradients returns the gradients at θ of the records with indices in [from, to).
func (e *programEvaluator) gradients(from, to int, theta []float64) [][]float64 {
	rows := make([]int32, 0, to-from)
	for i := from; i < to; i++ {
		rows = append(rows, int32(i))
	}
	out := e.each(rows, theta)
	if len(out) == len(rows) {
		return out
	}
	// A computation panicked, and its record was left out. Computing each record alone shows which
	// one.
	all := make([][]float64, len(rows))
	for k := range rows {
		if one := e.each(rows[k:k+1], theta); len(one) == 1 {
			all[k] = one[0]
		}
	}
	return all
}

func (e *programEvaluator) each(rows []int32, theta []float64) [][]float64 {
	sink := &collector{coordinates: e.coordinates, row: make([]float64, len(theta))}
	err := e.engine.Each(&gpu.Query{Draws: [][]float64{theta}, Batch: rows, Clip: math.Inf(1)}, sink)
	if err != nil {
		panic("scoring: " + err.Error()) // unreachable: the query fits the program
	}
	return sink.of
}

// A collector stores gradients from a [gpu.Evaluator].
type collector struct {
	coordinates []int
	row         []float64
	of          [][]float64
}

func (c *collector) AddRecord(index []int32, value []float64) error {
	if index == nil {
		copy(c.row, value)
	} else {
		clear(c.row)
		for k, j := range index {
			c.row[j] = value[k]
		}
	}
	out := make([]float64, len(c.coordinates))
	for i, at := range c.coordinates {
		out[i] = c.row[at]
	}
	c.of = append(c.of, out)
	return nil
}

// differenceStep is the step of central differences along columns of L⁻ᵀ
// ([programEvaluator.curvatures]).
const differenceStep = 1e-4

// All calls must have the same units, because the curvatures of a block are kept.
func (e *programEvaluator) curvature(units whitening) float64 {
	d := len(e.coordinates)
	size := max(1, min(blockOfScores, blockOfCurvatures/(d*d)))
	if b := e.i / size * size; e.curved.of == nil || e.curved.first != b {
		e.curved = blockOf{b, e.expected(b, min(b+size, e.Len()), units)}
	}
	full := e.curved.of[e.i-e.curved.first]
	if full == nil {
		panic("scoring: the curvature of a record panicked")
	}
	var squares float64
	for i := range d {
		for j := range i + 1 {
			x := (full[i*d+j] + full[j*d+i]) / 2
			e.square.SetSym(i, j, x)
			if squares += x * x; i != j {
				squares += x * x
			}
		}
	}
	return math.Sqrt(squares)
}

func (e *programEvaluator) packed(dst []float64, scale float64) { pack(dst, e.square, scale) }

// expectedOver is the number of outcomes, evenly spaced quantiles, over which a curvature is
// averaged.
const expectedOver = 8

// kinkedOver is used if the slope of the density jumps. The curvature is then a covariance of
// scores, which would be too small for few scores.
const kinkedOver = 64

// expected returns the curvatures of the records in [from, to), in the given units. The curvature
// of a record is the mean of the negative Hessian over its possible outcomes. If the slope of the
// density jumps at an outcome, it is the covariance of the score over these outcomes, which for
// smooth densities is equal. If no outcome can be drawn, it is the negative Hessian of the record.
func (e *programEvaluator) expected(from, to int, units whitening) [][]float64 {
	switch {
	case len(e.outcomes) == 0:
		return e.curvatures(from, to, units)
	case e.variates.kinked:
		return e.covariances(from, to, units)
	}
	sum := make([][]float64, to-from)
	for i := range sum {
		sum[i] = make([]float64, len(e.coordinates)*len(e.coordinates))
	}
	e.overOutcomes(from, to, expectedOver, func(drawn *programEvaluator) {
		for i, full := range drawn.curvatures(0, to-from, units) {
			sum[i] = added(sum[i], full, 1./expectedOver)
		}
	})
	return sum
}

// overOutcomes calls f number times with an evaluator of the records in [from, to), whose outcomes
// are evenly spaced quantiles.
func (e *programEvaluator) overOutcomes(from, to, number int, f func(drawn *programEvaluator)) {
	n := len(e.numbers)
	draw := e.drawer(e.programRecords.x[from*n:to*n], [][]float64{e.point})
	for k := range number {
		x := slices.Clone(e.programRecords.x[from*n : to*n])
		u := (float64(k) + 0.5) / float64(number)
		draw(x, slices.Repeat([]float64{math.Sqrt2 * math.Erfinv(2*u-1)}, e.sweeps()*len(e.outcomes)*(to-from)))
		f(e.records(x).at(e.point).(*programEvaluator))
	}
}

// added adds weight times v to sum. It returns nil if either is nil, because the record panicked.
func added(sum, v []float64, weight float64) []float64 {
	if sum == nil || v == nil {
		return nil
	}
	floats.AddScaled(sum, weight, v)
	return sum
}

// covariances returns the covariance of the score of each record in [from, to) over its possible
// outcomes, in the given units.
func (e *programEvaluator) covariances(from, to int, units whitening) [][]float64 {
	d := len(e.coordinates)
	squares, means := make([][]float64, to-from), make([][]float64, to-from)
	for i := range squares {
		squares[i], means[i] = make([]float64, d*d), make([]float64, d)
	}
	square := make([]float64, d*d)
	outer := func(score []float64) []float64 {
		for j, x := range score {
			for k, y := range score {
				square[j*d+k] = x * y
			}
		}
		return square
	}
	e.overOutcomes(from, to, kinkedOver, func(drawn *programEvaluator) {
		for i, score := range drawn.gradients(0, to-from, e.theta) {
			if means[i] = added(means[i], score, 1./kinkedOver); means[i] == nil {
				continue
			}
			units.apply(score, e.moved)
			squares[i] = added(squares[i], outer(score), 1./kinkedOver)
		}
	})
	for i, mean := range means {
		if mean == nil {
			squares[i] = nil
			continue
		}
		units.apply(mean, e.moved)
		squares[i] = added(squares[i], outer(mean), -1)
	}
	return squares
}

// curvatures returns the negative Hessians of the records in [from, to), in the given units. They
// are differences of gradients along the columns of L⁻ᵀ, where L defines the units.
func (e *programEvaluator) curvatures(from, to int, units whitening) [][]float64 {
	d := len(e.coordinates)
	out := make([][]float64, to-from)
	for i := range out {
		out[i] = make([]float64, d*d)
	}
	theta := make([]float64, len(e.theta))
	for j := range d {
		var ends [2][][]float64
		for n, sign := range []float64{1, -1} {
			copy(theta, e.theta)
			for k := range j + 1 {
				theta[e.coordinates[k]] += sign * differenceStep * units[k][j-k]
			}
			ends[n] = e.gradients(from, to, theta)
		}
		for i := range out {
			if ends[0][i] == nil || ends[1][i] == nil || out[i] == nil {
				out[i] = nil
				continue
			}
			column := out[i][j*d : (j+1)*d]
			for k := range column {
				column[k] = (ends[1][i][k] - ends[0][i][k]) / (2 * differenceStep)
			}
			units.apply(column, e.moved)
		}
	}
	return out
}
