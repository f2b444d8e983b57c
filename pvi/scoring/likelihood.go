package scoring

import (
	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/shard"
)

// A likelihood is the study's model, a [regression] or a [program]. It opens real records, and
// makes up synthetic ones.
type likelihood interface {
	// open returns the records of a shard.
	open(s *shard.Shard) (Records, error)

	// madeUp returns made-up records. x holds their values in the columns that [margins] describes,
	// one record after another.
	madeUp(p *Problem, x []float64) population
}

// Records are real records of a client, or made-up records.
type Records interface {
	// Len returns the number of records.
	Len() int

	// at returns an evaluator of the records at θ.
	at(theta []float64) evaluator
}

// An evaluator computes with one record at a time at one point θ. Its methods can panic, and
// results may be infinite or not a number.
type evaluator interface {
	// record selects the record for the methods below.
	record(i int)

	// margins returns the record's values in the columns that [margins] describes. The slice is
	// valid until the next call to record.
	margins() []float64

	// score writes the gradient of the record's log likelihood to dst.
	score(dst []float64)

	// residual returns the squared residual of a count, divided by its variance under the model.
	residual() float64

	// curvature computes the record's curvature in the given units and returns its Frobenius norm.
	curvature(units whitening) float64

	// packed writes scale times the last curvature to dst, in the layout of pack.
	packed(dst []float64, scale float64)
}

// A population is a set of made-up records for choosing clips and units and for expected sums.
// Their columns are independent and have the released [margins].
type population interface {
	// row returns the values of record i in the columns that [margins] describes.
	row(i int) []float64

	// scores calls each with the index and the score at θ of every record. Outcomes are drawn at θ
	// or, if cov is not nil, at random points from N(θ, cov).
	scores(theta []float64, cov *mat.SymDense, each func(i int, score []float64))

	// curvature returns the mean curvature of a record at θ.
	curvature(theta []float64) *mat.SymDense

	// released describes the sum of scores that is expected at the point of o if outcomes are drawn
	// at θ. The expectation assumes that the scores at θ add up to 0. whole is the sum of the whole
	// scores, and removed is the sum of the parts that the clip removes. lost is the part of the
	// response to θ that the clip removes: the sum of removed parts, each times the transposed score
	// of its record at θ. All results are nil if the population does not compute them.
	released(o *observation, theta []float64) (whole, removed []float64, lost *mat.Dense)

	// unknown returns the variance of the relative error of the expected effect of a clip
	// ([sample.uncertainty]).
	unknown() float64

	// undrawn reports, for each record, whether an outcome follows the margins instead of being
	// drawn at θ. It returns nil if all outcomes are drawn.
	undrawn(theta []float64) []bool

	// balances returns positive weights of the records with mean 1, with which the scores of
	// outcomes drawn at θ add up to almost 0. It returns nil if all weights are 1.
	balances(theta []float64) []float64

	// guess returns a function that estimates the curvature of all real records at θ, as if their
	// columns were independent with the margins of. If random is not nil, a regression draws the
	// shares and moments of the columns from their posterior ([margins.moments]).
	guess(of *margins, theta []float64) func(random []float64) *mat.SymDense

	// inflation returns the variance of the scores at θ relative to the model. It is 1 unless
	// counts vary more than the model states.
	inflation(theta []float64) float64

	// start returns a point near the posterior mode of made-up records with the given margins, at
	// which the rounds after the first start. It returns nil if these margins say nothing about θ.
	start(of *margins) []float64

	// drawn returns the records with outcomes drawn at θ. Different numbers give different
	// outcomes.
	drawn(theta []float64, number int) Records
}

// Open returns the records of a shard.
func (p *Problem) Open(s *shard.Shard) (Records, error) {
	records, err := p.model.open(s)
	if err != nil || p.tables == nil && p.compared == nil {
		return records, err
	}
	return described{records, s, nil}, nil
}

// A described adds to records the shard, for tables and predictive densities, and marks those held
// out.
type described struct {
	Records
	shard   *shard.Shard
	heldOut []bool // nil if no record is held out
}
