package gpu

import (
	"fmt"
	"math"
)

// Evaluator computes sums over rows of one table. Its buffers grow to the size of a query, and
// afterwards it allocates nothing. It is not safe for concurrent use.
type Evaluator interface {
	// Dim returns d, the dimension of θ.
	Dim() int
	// Rows returns the number of rows in the table.
	Rows() int
	// Sum writes the sum of the contributions to dst, of length q.Size(d), and returns the sum
	// of the log densities, averaged over the draws. If dst is nil, Sum computes only densities.
	Sum(dst []float64, q *Query) (Total, error)
	// Each passes every record's contribution to the sink, in the order of the batch. It omits a
	// record whose computation panics.
	Each(q *Query, sink Sink) error
	// Hessian writes the sum of the records' Hessians with respect to θ, without a clip, to dst.
	// dst has d(d+1)/2 elements and receives the lower triangle row by row.
	Hessian(dst, theta []float64) error
	// HessianDiagonal writes the diagonal of the same sum to dst, of length d. It forms no d×d
	// matrix, unless a record depends on all coordinates in several ways.
	HessianDiagonal(dst, theta []float64) error
}

// A Query describes an evaluation by its points, records and clip.
type Query struct {
	// Draws holds the points θ, at least one. With K draws a record's contribution is the
	// concatenation of its K gradients, clipped as one vector.
	Draws [][]float64
	// Batch holds row numbers; nil means all rows.
	Batch []int32
	// Clip is the bound C on the L2 norm of a contribution. +Inf means no bound.
	Clip float64
	// Joint, if not nil, has a vector v for each draw. A record then contributes [g; v∘g] for
	// its gradient g, as in the published algorithms. With θ = μ + s(ρ)∘ε and v = s'(ρ)∘ε this
	// vector is the gradient with respect to (μ, ρ). If Joint is nil, the mode is aligned: a
	// record contributes g alone. The caller can then compute v∘Σg from the sum Σg.
	Joint [][]float64
	// Inside, if not nil, is a vector of length Size(d) that is added to every record's
	// contribution before the clip. The published form of the algorithm uses it for the gradient
	// of the KL divergence, divided by N.
	Inside []float64
}

// Size returns the length of a contribution for a θ of dimension d.
func (q *Query) Size(d int) int {
	if q.Joint != nil {
		d *= 2
	}
	return d * len(q.Draws)
}

// Total contains sums that Sum returns in addition to the gradients. They have no noise and are
// not private.
type Total struct {
	// LogDensity is the sum of the records' log densities, averaged over the draws. It omits
	// records whose log density is not finite.
	LogDensity float64
	// Refused is the number of records that contributed zero because a number was not finite or
	// their computation panicked.
	Refused int
}

// Sink receives contributions, one at a time. value[j] is the element of the contribution in
// coordinate index[j]; a nil index means all coordinates in order. All indices are different.
// The slices are valid only during the call. The norm of value may exceed Clip by rounding, so a
// mechanism clips again. If Clip is infinite and Query.Inside is nil, value may contain numbers
// that are not finite, and the mechanism must count such a contribution as zero.
type Sink interface {
	AddRecord(index []int32, value []float64) error
}

// RowSink is a [Sink] that receives contributions of a generalised linear model. Such a
// contribution is a multiple of a row of the table, so the engine passes the factor and the row
// number instead of the vector. The contribution of record l is slopes[l]·x[rows[l]·d :
// (rows[l]+1)·d], in the order of the coordinates. A contribution that is not finite counts as
// zero. The slices are valid only during the call.
//
// [Evaluator.Each] prefers this interface if a record contributes one such vector and Clip is
// infinite, so that only the sink clips.
type RowSink interface {
	Sink
	AddRows(slopes []float64, rows []int32, x []float64) error
}

// VectorSink is a [Sink] that receives many contributions at once. values contains whole
// vectors, one after another. [Evaluator.Each] prefers it if records contribute to most
// coordinates. The slice is valid only during the call.
type VectorSink interface {
	Sink
	AddVectors(values []float64) error
}

// check returns an error if the query does not fit a model of dimension d or a table of the
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
		if !finite(v) {
			return fmt.Errorf("query: a joint vector is not finite")
		}
	}
	if !finite(q.Inside) {
		return fmt.Errorf("query: the terms inside the clip are not finite")
	}
	for _, row := range q.Batch {
		if uint(row) >= uint(rows) { // the conversion makes negative rows large
			return fmt.Errorf("query: the batch names a row that the table of %d rows does not have", rows)
		}
	}
	return nil
}

// finite reports whether all elements are finite.
func finite(v []float64) bool {
	for _, x := range v {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// factor returns the factor that clips a contribution of the given squared norm to the norm
// clip. It is 0 if the squared norm is not finite.
func factor(squared, clip float64) float64 {
	switch {
	case squared <= clip*clip && squared <= math.MaxFloat64:
		return 1
	case squared <= math.MaxFloat64:
		return min(1, clip/math.Sqrt(squared))
	}
	return 0
}
