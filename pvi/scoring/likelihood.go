package scoring

import (
	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/shard"
)

// A likelihood is the study's model, a [regression] or a [program]. It opens the real records of a
// client, and makes up synthetic ones.
type likelihood interface {
	// open returns the records of a shard.
	open(s *shard.Shard) (Records, error)

	// madeUp returns made-up records with the given values. x holds the values in the columns that
	// [margins] describes, one record after another.
	madeUp(p *Problem, x []float64) population
}

// Records are the records with which the package computes: the real records of a client, or made-up
// records.
type Records interface {
	// Len returns the number of records.
	Len() int

	// at returns an evaluator of the records at θ.
	at(theta []float64) evaluator
}

// An evaluator computes with one record at a time at one point θ, from that record and public
// numbers alone. Its methods can panic, and results can be infinite or not a number.
type evaluator interface {
	// record selects record i. The methods below compute with the selected record.
	record(i int)

	// margins returns the record's values in the columns that [margins] describes. The slice is
	// valid until the next call to record.
	margins() []float64

	// score writes the gradient of the record's log likelihood to dst.
	score(dst []float64)

	// residual returns the squared residual of a count, divided by the variance of the count under
	// the model.
	residual() float64

	// curvature computes the record's curvature in the given units and returns its Frobenius norm.
	curvature(units whitening) float64

	// packed writes to dst scale times the curvature from the last call to the method curvature, in
	// the layout of the function pack.
	packed(dst []float64, scale float64)
}

// A population is a set of made-up records for clips, units and expected sums. Their columns are
// independent and have the released [margins].
type population interface {
	// row returns the values of record i in the columns that [margins] describes.
	row(i int) []float64

	// scores calls each once for every record, with the index of the record and the score of the
	// record at θ. If cov is nil, the outcomes of all records are drawn at θ. Otherwise they are
	// drawn at random points from N(θ, cov).
	scores(theta []float64, cov *mat.SymDense, each func(i int, score []float64))

	// curvature returns the mean curvature of a record at θ.
	curvature(theta []float64) *mat.SymDense

	// released returns the sum of clipped scores that is expected at the point of o if outcomes are
	// drawn at θ. The expectation assumes that the unclipped scores at θ add up to 0. The result is
	// nil if the population does not compute it.
	released(o *observation, theta []float64) []float64

	// undrawn reports, for each record, whether an outcome of the record follows the margins
	// instead of being drawn at θ. It returns nil if all outcomes are drawn.
	undrawn(theta []float64) []bool

	// balances returns a positive weight for each record. The mean of the weights is 1. If outcomes
	// are drawn at θ, the weighted scores of the records at θ add up to almost 0. balances returns
	// nil if all weights are 1.
	balances(theta []float64) []float64

	// guess returns a function that estimates the curvature of all real records at θ, as if their
	// columns were independent and had the margins in the parameter of. If random is not nil, the
	// function of a regression draws the shares and moments of the columns from their posterior
	// ([margins.moments]). The function of a program ignores random.
	guess(of *margins, theta []float64) func(random []float64) *mat.SymDense

	// inflation returns the factor by which the variance of the scores at θ exceeds their variance
	// under the model. It is 1 unless counts vary more than the model states.
	inflation(theta []float64) float64

	// start returns a better point than the prior mean for the rounds after the first: one near the
	// posterior mode of made-up records with the given margins. It returns nil if these margins
	// contain no information about θ beyond the prior.
	start(of *margins) []float64

	// drawn returns the records with outcomes that are drawn at θ. Calls with different numbers
	// draw different outcomes.
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

// A described holds records with the shard for their tables and predictive densities, and the
// held-out ones.
type described struct {
	Records
	shard   *shard.Shard
	heldOut []bool // nil if no record is held out
}
