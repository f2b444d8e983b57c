package gpu

import (
	"fmt"
	"math"

	"fedpvi/internal/special"
)

// Evaluator computes log densities and their derivatives for the records of a table, both sums over
// records and the contributions of single records. Its buffers grow to the size of the largest
// query. After that, it allocates no memory. It is not safe for concurrent use.
type Evaluator interface {
	// Dim returns d, the dimension of θ.
	Dim() int
	// Rows returns the number of rows in the table.
	Rows() int
	// Sum writes the sum of the records' contributions to dst, whose length is q.Size(Dim()). It
	// returns the sum of their log densities, averaged over the draws. If dst is nil, Sum computes
	// only densities.
	Sum(dst []float64, q *Query) (Total, error)
	// Each passes the contributions of the records to the sink, one by one and in the order of the
	// batch. It leaves out a record whose computation panics.
	Each(q *Query, sink Sink) error
	// Hessian writes the sum of the records' Hessians with respect to θ to dst. It clips none of
	// them. dst gets the lower triangle row by row, d(d+1)/2 elements for d = Dim().
	Hessian(dst, theta []float64) error
	// HessianDiagonal writes the diagonal of that matrix to dst. It stores the whole matrix only if
	// a record depends on all coordinates in several ways.
	HessianDiagonal(dst, theta []float64) error
}

// A Query tells an [Evaluator] at which points θ and for which records to compute gradients, and
// how to clip a record's contribution.
type Query struct {
	// Draws has the points θ, at least one. If there are K of them, a record's contribution
	// consists of its gradients at the K points, one after another. It is clipped as one vector.
	Draws [][]float64
	// Batch has the row numbers of the records. nil means all rows.
	Batch []int32
	// Clip is the bound C on the L2 norm of a contribution. +Inf means no bound.
	Clip float64
	// Joint, if not nil, has a vector v for each draw. A record with gradient g then contributes
	// the vector [g; v∘g], where ∘ multiplies element by element. Suppose that the draw is θ = μ +
	// s(ρ)∘ε and that v = s′(ρ)∘ε. Then this contribution is the gradient with respect to (μ, ρ),
	// which the published algorithms release. If Joint is nil (aligned gradients), a record
	// contributes g alone, and the caller can compute v∘Σg from the sum Σg.
	Joint [][]float64
	// Inside, if not nil, is a vector of length Size(d) that is added to every record's
	// contribution before clipping. In the published algorithm, it is the gradient of the KL
	// divergence, divided by the number of records.
	Inside []float64
}

// Size returns the length of a contribution for a θ of dimension d.
func (q *Query) Size(d int) int {
	if q.Joint != nil {
		d *= 2
	}
	return d * len(q.Draws)
}

// Total has two results of [Evaluator.Sum] in addition to the sum of gradients. Neither has noise,
// so they must not be released.
type Total struct {
	// LogDensity is the sum of the records' log densities, averaged over the draws. It leaves out
	// records whose log density is not finite.
	LogDensity float64
	// Refused is the number of records that contributed zero, either because a number was not
	// finite or because their computation panicked.
	Refused int
}

// Sink receives contributions, one at a time. value[k] is the element of the contribution in
// coordinate index[k], and the other elements are zero. If index is nil, value has the elements of
// all coordinates, from the first to the last. All indices are different. The sink must not keep
// the slices.
//
// Because of rounding, the norm of value may slightly exceed Clip, so a mechanism clips again. If
// Clip is infinite and Query.Inside is nil, value may have numbers that are not finite. The
// mechanism must then count the contribution as zero.
type Sink interface {
	AddRecord(index []int32, value []float64) error
}

// RowSink is a [Sink] for generalised linear models. In such a model a contribution is a multiple
// of a row of the table, so the evaluator passes the factor and the row number instead of the
// vector. The contribution of record l is slopes[l] times row rows[l] of x, which is stored by
// rows, in the order of the coordinates. The sink must count a contribution that is not finite as
// zero, and must not keep the slices.
//
// [Evaluator.Each] calls AddRows if a record contributes one such vector and Clip is infinite, so
// that only the sink clips.
type RowSink interface {
	Sink
	AddRows(slopes []float64, rows []int32, x []float64) error
}

// VectorSink is a [Sink] that receives many contributions at once. values holds whole vectors, one
// after another. [Evaluator.Each] calls AddVectors if records contribute to most coordinates. The
// sink must not keep the slice.
type VectorSink interface {
	Sink
	AddVectors(values []float64) error
}

// check returns an error if the query does not fit a model with d coordinates, or a table with the
// given number of rows.
func (q *Query) check(d, rows int) error {
	if len(q.Draws) == 0 {
		return fmt.Errorf("query: at least one draw is needed")
	}
	if !(q.Clip > 0) {
		return fmt.Errorf("query: the clip must be positive (infinite for none), got %g", q.Clip)
	}
	if q.Joint != nil && len(q.Joint) != len(q.Draws) {
		return fmt.Errorf("query: %d draws and %d joint vectors", len(q.Draws), len(q.Joint))
	}
	for k, theta := range q.Draws {
		if len(theta) != d || q.Joint != nil && len(q.Joint[k]) != d {
			return fmt.Errorf("query: draw %d does not have the %d coordinates of the model", k, d)
		}
	}
	if q.Inside != nil && len(q.Inside) != q.Size(d) {
		return fmt.Errorf("query: %d terms inside the clip for %d coordinates", len(q.Inside), q.Size(d))
	}
	for _, v := range q.Joint {
		if !special.Finite(v) {
			return fmt.Errorf("query: a joint vector is not finite")
		}
	}
	if !special.Finite(q.Inside) {
		return fmt.Errorf("query: the terms inside the clip are not finite")
	}
	for _, row := range q.Batch {
		if uint(row) >= uint(rows) { // the conversion turns a negative number into a large one
			return fmt.Errorf("query: the batch names a row that the table of %d rows does not have", rows)
		}
	}
	return nil
}

// factor returns the factor that shortens a contribution to a norm of at most clip. squared is the
// contribution's squared norm. If it is not finite, factor returns 0.
func factor(squared, clip float64) float64 {
	switch {
	case squared <= clip*clip && squared <= math.MaxFloat64:
		return 1
	case squared <= math.MaxFloat64:
		return min(1, clip/math.Sqrt(squared))
	}
	return 0
}
