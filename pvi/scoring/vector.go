package scoring

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/guard"
)

// A Contributor computes the vectors of records for one query. It is not safe for concurrent
// use.
type Contributor struct {
	*Query
	work   *workspace
	curved *curved
	square *mat.SymDense
}

// Contributor returns the contributor of a query.
func (q *Query) Contributor() *Contributor {
	return &Contributor{Query: q, work: q.workspace(), curved: q.newCurved(), square: mat.NewSymDense(q.Dim(), nil)}
}

// Vector writes to dst the vector of a record with regressors x and outcome y. Its L2 norm is at
// most the round's clip, up to rounding, and the mechanism clips it again. If an element is not
// finite, the mechanism adds zero for the record. If the computation panics, the vector is zero.
func (c *Contributor) Vector(dst, x []float64, y float64) {
	if guard.Run(func() { c.write(dst, x, y) }) != nil {
		clear(dst)
	}
}

func (c *Contributor) write(dst, x []float64, y float64) {
	c.work.predict(x, c.theta)
	parts := c.split(dst)
	if score := parts[scoreBlock]; score != nil {
		c.work.score(score, x, y)
		c.white.apply(score, c.work.vector)
		length := norm(score) / c.clips[scoreBlock]
		c.shrink(scoreBlock, score)
		clear(parts[lengthBlock])
		parts[lengthBlock][lengthOf(length)] = c.scales[lengthBlock]
	}
	if residual := parts[residualBlock]; residual != nil {
		residual[0] = c.scales[residualBlock] * math.Min(c.work.residual(y)/c.clips[residualBlock], 1)
	}
	if margins := parts[marginBlock]; margins != nil {
		c.margins.record(margins, x)
		c.shrink(marginBlock, margins)
	}
	if packed := parts[curvatureBlock]; packed != nil {
		size := c.curved.norm(c.work, x, c.curvatureWhite)
		c.square.SymOuterK(1, c.curved.factors.T())
		pack(packed, c.square, c.scales[curvatureBlock]/math.Max(size, c.clips[curvatureBlock]))
	}
}

// split returns the part of dst for each block, and nil for blocks that the round does not have.
func (c *Contributor) split(dst []float64) (parts [blocks][]float64) {
	n := 0
	for b, size := range c.sizes {
		if size > 0 {
			parts[b] = dst[n : n+size]
		}
		n += size
	}
	return parts
}

// shrink scales a block so that its norm is its scale times the ratio of its norm to the clip,
// or its scale if the norm exceeds the clip.
func (c *Contributor) shrink(b block, v []float64) {
	by := c.scales[b] / math.Max(norm(v), c.clips[b])
	for i := range v {
		v[i] *= by
	}
}
