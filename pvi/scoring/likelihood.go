package scoring

import (
	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/shard"
)

// A likelihood is the model of the study, which is a [regression] or a [program]. It prepares real
// records, and makes up synthetic ones.
type likelihood interface {
	// open prepares the records of a shard.
	open(s *shard.Shard) (Records, error)

	// madeUp returns made-up records whose columns in [margins] have the values x, one record after
	// the other.
	madeUp(p *Problem, x []float64) population
}

// Records are the real records of a client, or made-up records.
type Records interface {
	// Len returns the number of records.
	Len() int

	// at returns an evaluator for the records at θ.
	at(theta []float64) evaluator
}

// An evaluator computes with one record at a time, at a point θ. Its methods may panic, and may
// return infinities or NaNs.
type evaluator interface {
	// record selects the record that the methods below refer to.
	record(i int)

	// margins returns the values that the record has in the columns of [margins]. The slice is valid
	// until the next call to record.
	margins() []float64

	// score writes the gradient of the record's log likelihood to dst.
	score(dst []float64)

	// residual returns the squared residual of a count relative to its variance under the model.
	residual() float64

	// curvature computes the curvature of the record in the given units, and returns the Frobenius
	// norm.
	curvature(units whitening) float64

	// packed writes scale times the most recent curvature to dst, in the layout of pack.
	packed(dst []float64, scale float64)
}

// A population is a set of made-up records, which is used to choose clipping bounds and units and
// to predict sums. Their columns are independent and have the released [margins].
type population interface {
	// row returns the values that record i has in the columns of [margins].
	row(i int) []float64

	// scores calls each for every record, with the record's index and its score at θ. Outcomes are
	// drawn at θ or, if cov is not nil, at random points from N(θ, cov).
	scores(theta []float64, cov *mat.SymDense, each func(i int, score []float64))

	// curvature returns the mean curvature of the records at θ.
	curvature(theta []float64) *mat.SymDense

	// released predicts the sum of scores at the point of o, for outcomes drawn at θ. It assumes that
	// the scores at θ add up to 0. whole is the sum of the unclipped scores, and removed the sum of
	// the parts that clipping removes from them. lost says by how much clipping reduces the response
	// to θ: it is the sum of removed parts, each times the transposed score of its record at θ. All
	// results are nil if the population does not compute them.
	released(o *observation, theta []float64) (whole, removed []float64, lost *mat.Dense)

	// unknown returns the variance of the relative error in the predicted effect of clipping
	// ([sample.uncertainty]).
	unknown() float64

	// undrawn reports for each record whether an outcome follows the margins and was not drawn at θ.
	// It returns nil if all outcomes are drawn.
	undrawn(theta []float64) []bool

	// balances returns positive weights for the records, with mean 1. With these weights, the scores
	// of outcomes drawn at θ add up to almost 0. balances returns nil if all weights are 1.
	balances(theta []float64) []float64

	// guess returns a function that estimates the curvature of all real records at θ, as if their
	// columns were independent and had the given margins. If random is not nil, a regression draws the
	// shares and moments of the columns from their posterior ([margins.moments]).
	guess(of *margins, theta []float64) func(random []float64) *mat.SymDense

	// inflation returns the variance of the scores at θ relative to that under the model. It is 1
	// unless counts vary more than the model says.
	inflation(theta []float64) float64

	// start returns a point close to the posterior mode of made-up records with the given margins.
	// After the first round, the rounds start there. It returns nil if these margins say nothing about
	// θ.
	start(of *margins) []float64

	// drawn returns the records with outcomes drawn at θ. The outcomes depend on number.
	drawn(theta []float64, number int) Records
}

// Open prepares the records of a shard.
func (p *Problem) Open(s *shard.Shard) (Records, error) {
	records, err := p.model.open(s)
	if err != nil || p.tables == nil && p.compared == nil {
		return records, err
	}
	return described{records, s, nil}, nil
}

// A described is records together with their shard, which is needed for tables and predictive
// densities. It also marks the held-out records.
type described struct {
	Records
	shard   *shard.Shard
	heldOut []bool // nil if no record is held out
}
