package scoring

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/gpu"
	"fedpvi/internal/guard"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// DispersionClip is the clipping bound for squared residuals.
const DispersionClip = dispersionClip

func ClippedResidual(mu, mean, frailty float64) float64 { return clippedResidual(mu, mean, frailty) }

func (q *Query) Theta() []float64 { return q.theta }

func (q *Query) Round() int { return q.round }

// Panicking makes p panic when it computes with a record whose outcome is above y.
func (p *Problem) Panicking(y float64) {
	r := p.model.(*regression)
	r.response = panicking{r.response, y}
}

func (p *Problem) Regressors() int { return len(p.columns) }

// A Single computes the vectors of a regression's records one at a time.
type Single struct {
	*Contributor
	x []float64
	y float64
}

// Single returns a Single for this query.
func (q *Query) Single() *Single {
	s := new(Single)
	r := q.model.(*regression)
	s.Contributor = q.Contributor(&rows{r, func([]float64, int) []float64 { return s.x }, func(int) float64 { return s.y }, 1})
	return s
}

// Vector writes the vector of a record with regressors x and outcome y to dst.
func (s *Single) Vector(dst, x []float64, y float64) {
	s.x, s.y = x, y
	s.Contributor.Vector(dst, 0)
}

// Row writes the regressors of record i to x, and returns its outcome.
func (p *Problem) Row(x []float64, s *shard.Shard, i int) (y float64) {
	p.model.(*regression).row(x, s, i)
	_, y = s.Record(i)
	return y
}

type panicking struct {
	solver.Described
	above float64
}

func (r panicking) Eval(y float64, eta, g, h []float64) float64 {
	if y > r.above {
		panic(y)
	}
	return r.Described.Eval(y, eta, g, h)
}

// ScoresWithout returns the scores of a program's records. The score of the given row is nil, as if
// the engine could not compute it.
func (p *Problem) ScoresWithout(records Records, row int32) [][]float64 {
	e := records.at(p.mean).(*programEvaluator)
	e.engine = omitting{e.engine, row}
	out := make([][]float64, records.Len())
	for i := range out {
		score := make([]float64, p.Dim())
		e.record(i)
		if guard.Run(func() { e.score(score) }) == nil {
			out[i] = score
		}
	}
	return out
}

// omitting is an engine that leaves out one row, as it would after a panic.
type omitting struct {
	gpu.Evaluator
	row int32
}

func (o omitting) Each(q *gpu.Query, sink gpu.Sink) error {
	left := *q
	left.Batch = nil
	for _, row := range q.Batch {
		if row != o.row {
			left.Batch = append(left.Batch, row)
		}
	}
	if len(left.Batch) == 0 {
		return nil
	}
	return o.Evaluator.Each(&left, sink)
}

// Redraw draws the outcomes of a program's records at θ, and returns the outcomes from before and
// after that.
func (p *Problem) Redraw(s *shard.Shard, theta []float64) (before, after [][]float64) {
	r := p.model.(*program)
	opened, err := r.open(s)
	if err != nil {
		panic(err)
	}
	old := opened.(*programRecords).x
	x, point := slices.Clone(old), make([]float64, len(r.coordinates))
	for i, at := range r.coordinates {
		point[i] = theta[at]
	}
	r.drawer(x, [][]float64{point})(x, p.normals(r.sweeps()*len(r.outcomes)*s.Len(), "redrawn", 0))
	for _, k := range r.outcomes {
		var one, two []float64
		for i := range s.Len() {
			one, two = append(one, old[i*len(r.numbers)+k]), append(two, x[i*len(r.numbers)+k])
		}
		before, after = append(before, one), append(after, two)
	}
	return before, after
}

// Curvature returns the mean of the draws of the curvature after the last round.
func (s *State) Curvature() mat.Symmetric { return s.last }

// Response says how much the last sum of clipped scores of a program changes if coordinate i of the
// true θ changes. It returns the change that [State.released] predicts, and that for outcomes drawn
// for made-up records. Both are relative to the change without clipping.
func (s *State) Response(i, draws int) (predicted, drawn float64) {
	o, m := &s.path[len(s.path)-1], s.madeUp.(*programMadeUp)
	white, scratch := newWhitening(o.units), make([]float64, s.Dim())
	var clipped, whole float64
	for n := range draws {
		for _, move := range []float64{0.1, -0.1} {
			theta := slices.Clone(s.theta)
			theta[i] += move
			m.eachScore(o.theta, m.drawn(theta, n).(*programRecords), func(_ int, score []float64) {
				change := score[i] * move
				white.apply(score, scratch)
				whole += change
				clipped += min(1, o.clip/norm(score)) * change
			})
		}
	}
	_, response := s.released(o, s.theta, s.lambda(s.theta))
	made := s.madeUp.guess(s.margins, s.theta)(nil)
	return mat.Dot(mat.NewVecDense(s.Dim(), response.RawRowView(i)), full(made).ColView(i)) / made.At(i, i), clipped / whole
}
