package scoring

import (
	"math"

	"fedpvi/internal/guard"
)

// A Contributor computes the vectors that a client's records contribute to the sum of a query. It
// is not safe for concurrent use.
type Contributor struct {
	*Query
	work    evaluator
	scratch []float64

	// described returns the values of a record for the tables. It is nil for made-up records.
	described func(i int) []float64

	heldOut []bool          // whether each record is held out; nil if none is
	scored  map[int]float64 // log predictive densities of held-out records, in their round
}

// Contributor returns the contributor of a query for the given records.
func (q *Query) Contributor(records Records) *Contributor {
	c := &Contributor{Query: q, work: records.at(q.theta), scratch: make([]float64, q.Dim())}
	if of, ok := records.(described); ok {
		c.described, c.heldOut = of.shard.Described, of.heldOut
		if q.sizes[predictiveBlock] > 0 {
			c.scored = q.logDensities(of)
		}
	}
	return c
}

// Vector writes the vector of record i to dst. Its L2 norm is at most the round's clip, up to
// rounding, and the mechanism clips it again. The vector is zero if the computation panics, and the
// mechanism adds zero if an element is not finite.
func (c *Contributor) Vector(dst []float64, i int) {
	if guard.Run(func() { c.write(dst, i) }) != nil {
		clear(dst)
	}
}

func (c *Contributor) write(dst []float64, i int) {
	parts := c.split(dst)
	if predictive := parts[predictiveBlock]; predictive != nil {
		c.writePredictive(predictive, i)
		return // the round has no other block
	}
	if c.heldOut != nil && c.heldOut[i] {
		clear(dst)
		c.writeTables(parts[tableBlock], i)
		return
	}
	c.work.record(i)
	c.writeTables(parts[tableBlock], i)
	if score := parts[scoreBlock]; score != nil {
		c.work.score(score)
		c.white.apply(score, c.scratch)
		length := norm(score) / c.clips[scoreBlock]
		c.shrink(scoreBlock, score)
		clear(parts[lengthBlock])
		parts[lengthBlock][lengthOf(length)] = c.scales[lengthBlock]
	}
	if residual := parts[residualBlock]; residual != nil {
		residual[0] = c.scales[residualBlock] * math.Min(c.work.residual()/c.clips[residualBlock], 1)
	}
	if margins := parts[marginBlock]; margins != nil {
		c.margins.record(margins, c.work.margins())
		c.shrink(marginBlock, margins)
	}
	if packed := parts[curvatureBlock]; packed != nil {
		size := c.work.curvature(c.curvatureWhite)
		c.work.packed(packed, c.scales[curvatureBlock]/math.Max(size, c.clips[curvatureBlock]))
	}
}

// writeTables writes the part for the tables, which is nil if the round has none.
func (c *Contributor) writeTables(tables []float64, i int) {
	if tables == nil {
		return
	}
	clear(tables)
	if c.described != nil {
		c.tables.Vector(tables, c.described(i))
		c.shrink(tableBlock, tables)
	}
}

func (c *Contributor) writePredictive(predictive []float64, i int) {
	clear(predictive)
	log, ok := c.scored[i]
	if ok && !math.IsNaN(log) {
		c.compared.scores.Vector(predictive, log)
		c.shrink(predictiveBlock, predictive)
	}
}

// split divides a vector into its blocks. Blocks that the round lacks are nil.
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

// shrink multiplies v by scale/max(‖v‖, clip) of block b, so that its norm is at most the scale.
func (c *Contributor) shrink(b block, v []float64) {
	by := c.scales[b] / math.Max(norm(v), c.clips[b])
	for i := range v {
		v[i] *= by
	}
}
