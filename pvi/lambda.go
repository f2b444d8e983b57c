package pvi

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/method"
)

// A posterior is λ on the lattice, together with values computed from it. The server and every site
// have their own copy. Floating-point values may differ between machines in the last bit, and so
// may λ unless its arithmetic is exact.
type posterior struct {
	protocol *Protocol
	lambda   []Wide // λ − λ_prior in lattice units
	now      moments
	meanOf   func(dst, nat []float64) error

	walk  method.Walk
	tried method.Move // the move that the last call to try computed; nil after a commit
	then  moments     // moments of q after the move in tried
}

// moments holds the natural parameters and the mean of q in floating point. They are computed only
// when needed, because q may have a million coordinates.
type moments struct {
	natural, mean []float64
	known         bool
}

func newPosterior(p *Protocol) *posterior {
	q := &posterior{protocol: p, meanOf: p.family.Means(), walk: p.method.NewWalk(), lambda: make([]Wide, p.family.Size())}
	if !q.take(q.walk.Begin()) {
		panic("pvi: the first q is not proper") // unreachable: the prior is computed from proper moments
	}
	return q
}

// natural returns the natural parameters of q. The slice is not a copy.
func (q *posterior) natural() []float64 { return q.known().natural }

// mean returns the mean of q. The slice is not a copy.
func (q *posterior) mean() []float64 { return q.known().mean }

func (q *posterior) known() *moments {
	if !q.now.known && !q.moments(&q.now) {
		panic("pvi: λ is not proper") // unreachable: λ was proper when it was committed
	}
	return &q.now
}

// moments computes m from λ and reports whether q is a proper distribution.
func (q *posterior) moments(m *moments) (proper bool) {
	p := q.protocol
	if m.natural == nil {
		m.natural, m.mean = make([]float64, p.family.Size()), make([]float64, p.family.Dim())
	}
	for i, w := range q.lambda {
		m.natural[i] = p.setting.PriorAt(i) + w.Float(p.exponent)
	}
	m.known = q.meanOf(m.mean, m.natural) == nil
	return m.known
}

// try computes λ after plan number n, and reports whether q would then be a proper distribution.
// sum is the opened sum of the answers, in coordinates relative to centre. λ itself changes only
// when commit is called.
func (q *posterior) try(n, answers int, sum, centre []int64) (proper bool) {
	return q.tryMove(q.walk.Step(n, answers, q.protocol.damping(n), sum, centre))
}

func (q *posterior) tryMove(move method.Move) (proper bool) {
	if q.tried = move; move == nil {
		return false
	}
	q.there(func() { proper = q.proper() })
	return proper
}

// there calls f with q.lambda temporarily set to the λ that the last call to try computed.
func (q *posterior) there(f func()) {
	q.lambda = q.tried.To(q.lambda)
	f()
	q.lambda = q.tried.Back(q.lambda)
}

// take tries the moves in order, commits the first one that makes q proper up to rounding, and
// reports whether it found one.
func (q *posterior) take(moves []method.Move) (proper bool) {
	for _, m := range moves {
		if q.tryMove(m) || q.borderline() {
			q.commit()
			return true
		}
	}
	return false
}

func (q *posterior) end() { q.take(q.walk.End()) }

// restore sets λ and the state of q.walk to saved values. If ended is true, they were saved after
// the last outcome of the study.
func (q *posterior) restore(saved []Wide, walk []byte, ended bool) error {
	if len(saved) != len(q.lambda) {
		return fmt.Errorf("λ has %d elements, want %d", len(saved), len(q.lambda))
	}
	moves, err := q.walk.Restore(saved, walk, ended)
	if err != nil {
		return err
	}
	if !q.take(moves) {
		return errors.New("λ is not a proper distribution")
	}
	if !q.same(saved) {
		return errors.New("λ does not follow from the saved state: the state is damaged, or a build with another version of the method wrote it, and then that build must read it")
	}
	return nil
}

// same reports whether as equals λ. Where λ is computed in floating point, small rounding
// differences do not count. They do not affect privacy, because a record adds at most the clipping
// bound at any θ chosen without looking at the records.
func (q *posterior) same(as []Wide) bool {
	if q.protocol.method.Exact() {
		return slices.Equal(as, q.lambda)
	}
	return len(as) == len(q.lambda) && q.near(as)
}

func (q *posterior) near(as []Wide) bool {
	p, natural := q.protocol, q.natural()
	d := p.family.Dim()
	diagonal := make([]float64, d) // diagonal of the precision matrix
	for k := range p.coordinates.Precisions() {
		if i, j := p.coordinates.Entry(k); i == j {
			diagonal[i] = natural[d+k]
		}
	}
	for n, w := range as {
		gap := math.Abs(w.Add(q.lambda[n].Neg()).Float(p.exponent))
		var scale float64
		if n < d {
			scale = math.Abs(natural[n]) + math.Sqrt(diagonal[n])
		} else {
			i, j := p.coordinates.Entry(n - d)
			scale = math.Sqrt(diagonal[i] * diagonal[j])
		}
		if !(gap <= method.Tolerance*scale) {
			return false
		}
	}
	return true
}

func (q *posterior) remarks() *method.Remarks {
	if w, ok := q.walk.(method.Remarking); ok {
		return w.Remarks()
	}
	return nil
}

// proper reports whether q, that is, the prior plus λ, is a proper distribution.
func (q *posterior) proper() bool {
	q.then.known = false
	if !gaussian.Independent(q.protocol.family) {
		return q.moments(&q.then)
	}
	return q.blocks(func(part gaussian.Family, _ int, nat []float64) error { return part.Check(nat) }) == nil
}

// EachBlock calls f for each block of coordinates of q, in order. part is the family of the block,
// and nat holds its natural parameters. The coordinates of q must be independent
// ([gaussian.Independent]).
func (s *Server) EachBlock(f func(part gaussian.Family, nat []float64) error) error {
	return s.q.blocks(func(part gaussian.Family, _ int, nat []float64) error { return f(part, nat) })
}

// blockSize is the number of coordinates in a block.
const blockSize = 512

// blocks calls f for each block of coordinates of q, with the index of the block's first coordinate
// and the block's natural parameters. Only one block is in memory at a time. The coordinates must
// be independent.
func (q *posterior) blocks(f func(part gaussian.Family, first int, nat []float64) error) error {
	p, d := q.protocol, q.protocol.family.Dim()
	nat := make([]float64, 0, 2*min(blockSize, d))
	for first := 0; first < d; first += blockSize {
		size := min(blockSize, d-first)
		nat = nat[:0]
		for _, from := range []int{first, d + first} {
			for i, w := range q.lambda[from : from+size] {
				nat = append(nat, p.setting.PriorAt(from+i)+w.Float(p.exponent))
			}
		}
		if err := f(gaussian.Diagonal(size), first, nat); err != nil {
			return err
		}
	}
	return nil
}

// boundary bounds how much an element of the precision matrix may differ between machines, relative
// to the magnitudes of the terms it is a sum of. The computed Cholesky factor of a d×d matrix is
// the exact factor of a matrix within d²·2⁻⁵⁰ of it.
func (p *Protocol) boundary() float64 {
	d := float64(p.family.Dim() + 1)
	return d * d * 0x1p-50
}

// borderline reports whether rounding errors decide whether q is proper after the last call to try.
// If they do, it adds the largest possible rounding error to the diagonal of the precision, and
// computes the mean of q from that.
func (q *posterior) borderline() (so bool) {
	if q.tried == nil || !q.protocol.method.Exact() {
		return false // In floating point, precisions are positive unless the descent has diverged.
	}
	q.there(func() {
		q.moments(&q.then)
		// Here, another machine might come to a different verdict.
		if so = !q.nudged(-1) && q.nudged(1); so {
			q.then.known = true
		}
	})
	return so
}

// nudged adds a multiple of the largest rounding error ([Protocol.boundary]) to the diagonal of q's
// precision. It computes the mean from the result and reports whether it is proper.
func (q *posterior) nudged(multiple float64) (proper bool) {
	p := q.protocol
	moved := slices.Clone(q.then.natural)
	d := p.family.Dim()
	for k := range p.coordinates.Precisions() {
		if i, j := p.coordinates.Entry(k); i == j {
			size := math.Abs(p.setting.PriorAt(d+k)) + math.Abs(q.lambda[d+k].Float(p.exponent))
			moved[d+k] += multiple * p.boundary() * size
		}
	}
	return q.meanOf(q.then.mean, moved) == nil
}

func (q *posterior) commit() {
	q.lambda = q.tried.To(q.lambda)
	q.tried.Commit()
	q.tried = nil
	q.now, q.then = q.then, q.now
}

// centre returns the mean of q in units of 2^-[lambda.CentreBits], or nil if the coordinates are
// not centred.
func (q *posterior) centre() []int64 {
	if !q.protocol.coordinates.Centred() {
		return nil
	}
	centre := make([]int64, q.protocol.family.Dim())
	if q.now.known || !gaussian.Independent(q.protocol.family) { // The mean is also known if q counts as proper only because of rounding.
		lambda.RoundCentre(centre, q.mean())
		return centre
	}
	var means [blockSize]float64
	err := q.blocks(func(part gaussian.Family, first int, nat []float64) error {
		mean := means[:part.Dim()]
		err := part.Mean(mean, nat)
		lambda.RoundCentre(centre[first:], mean)
		return err
	})
	if err != nil {
		panic("pvi: λ is not proper") // unreachable: λ was proper when it was committed
	}
	return centre
}

func (p *Protocol) checkCentre(centre []int64) error {
	if err := p.coordinates.CheckCentre(centre); err != nil {
		return refuse("%w", err)
	}
	return nil
}
