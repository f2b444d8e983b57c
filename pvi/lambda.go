package pvi

import (
	"math"
	"slices"
)

// A posterior is what a machine knows of q: λ on the lattice and what follows
// from it. Server and sites each keep one, and their λ never differ. (Their floats
// may in the last bit, on different machines.)
type posterior struct {
	protocol *Protocol
	lambda   []Wide    // λ − λ_prior
	natural  []float64 // of q
	mean     []float64 // of q
	meanOf   func(dst, nat []float64) error

	next        []Wide // what try computed
	nextNatural []float64
	nextMean    []float64

	summed *summed // where sums of gradients move q; nil where changes of factors do
}

// newPosterior returns the posterior before any data: the prior.
func newPosterior(p *Protocol) *posterior {
	d, n := p.family.Dim(), p.family.Size()
	q := &posterior{
		protocol: p,
		lambda:   make([]Wide, n), natural: make([]float64, n), mean: make([]float64, d),
		meanOf: p.family.Means(),
		next:   make([]Wide, n), nextNatural: make([]float64, n), nextMean: make([]float64, d),
	}
	if p.Summed() {
		q.summed = newSummed(p)
		if !q.take(q.summed.descent.Start(), false) {
			panic("pvi: the first q is not proper") // unreachable: NewProtocol tried it
		}
	} else if !q.set(q.lambda) {
		panic("pvi: the prior is not proper") // unreachable: NewProtocol made it from moments
	}
	return q
}

// try computes the λ to which what was opened for plan number n leads, the change in
// coordinates around centre or the sum of gradients, and reports whether it is a
// proper distribution. The posterior stays as it is until commit.
func (q *posterior) try(n int, change, centre []int64) (proper bool) {
	if q.summed != nil {
		return q.tryStep(n, change)
	}
	copy(q.next, q.lambda)
	q.protocol.move(q.next, change, q.protocol.damping(n), centre)
	return q.tryLambda()
}

func (q *posterior) tryLambda() (proper bool) {
	p := q.protocol
	for i, w := range q.next {
		q.nextNatural[i] = p.prior[i] + w.float(p.exponent)
	}
	return q.meanOf(q.nextMean, q.nextNatural) == nil
}

// boundary is the size, relative to what an element of the precision is the sum
// of, of differences that machines may disagree about: a Cholesky factor of a
// d×d matrix is that of one whose elements differ by less than d²·2⁻⁵⁰.
func (p *Protocol) boundary() float64 {
	d := float64(p.family.Dim() + 1)
	return d * d * 0x1p-50
}

// borderline reports whether what the last try computed is so close to improper
// that rounding decides, and if so computes its mean, with a precision that is
// larger by what rounding may do.
func (q *posterior) borderline() bool {
	if q.summed != nil {
		return false // its precisions are positive, or it has run away
	}
	if q.nudged(-1) {
		return false // proper on every machine
	}
	return q.nudged(1) // or else improper on every machine
}

// nudged reports whether what the last try computed is proper with the diagonal of
// its precision moved by a multiple of the boundary. It writes nextMean.
func (q *posterior) nudged(by float64) (proper bool) {
	p := q.protocol
	moved := slices.Clone(q.nextNatural)
	d := p.family.Dim()
	for k, at := range p.entry {
		if at[0] == at[1] {
			size := math.Abs(p.prior[d+k]) + math.Abs(q.next[d+k].float(p.exponent))
			moved[d+k] += by * p.boundary() * size
		}
	}
	return q.meanOf(q.nextMean, moved) == nil
}

// commit makes what the last try computed the posterior.
func (q *posterior) commit() {
	q.lambda, q.next = q.next, q.lambda
	q.natural, q.nextNatural = q.nextNatural, q.natural
	q.mean, q.nextMean = q.nextMean, q.mean
	if q.summed != nil {
		q.summed.state, q.summed.next = q.summed.next, q.summed.state
	}
}

// maxCentre bounds the centre of clipping coordinates: a mean beyond is noise.
const maxCentre = 1 << (centreLimit + centreBits)

// centre returns the mean of q as the centre of clipping coordinates, in units
// of 2^-centreBits; nil if the protocol has none.
func (q *posterior) centre() []int64 {
	if !q.protocol.centred() {
		return nil
	}
	centre := make([]int64, len(q.mean))
	for i, m := range q.mean {
		centre[i] = int64(math.Round(min(max(m*(1<<centreBits), -maxCentre), maxCentre)))
	}
	return centre
}

// checkCentre refuses a centre that is not the protocol's kind. Any that is will
// do: it chooses coordinates in which a change is clipped, and everybody knows it.
func (p *Protocol) checkCentre(centre []int64) error {
	want := 0
	if p.centred() {
		want = p.family.Dim()
	}
	if len(centre) != want {
		return refuse("the centre has %d elements, want %d", len(centre), want)
	}
	for i, c := range centre {
		if c > maxCentre || c < -maxCentre {
			return refuse("element %d of the centre is beyond its limit", i+1)
		}
	}
	return nil
}

// set makes lambda the posterior's λ if it is a proper distribution, or may be one
// on another machine.
func (q *posterior) set(lambda []Wide) bool {
	copy(q.next, lambda)
	if !q.tryLambda() && !q.borderline() {
		return false
	}
	q.commit()
	return true
}

// toCentred turns natural parameters into coordinates around a centre c: h
// becomes h − Λc. A client whose factor is a Gaussian likelihood has a small h in
// the coordinates around the posterior's mean, however large the mean is, so
// that a smaller clip does, and noise on Λ no longer moves the mean.
func (p *Protocol) toCentred(nat []float64, centre []int64) {
	d := len(centre)
	for k, at := range p.entry {
		i, j := at[0], at[1]
		precision := math.Ldexp(nat[d+k], -centreBits)
		nat[i] -= precision * float64(centre[j])
		if i != j {
			nat[j] -= precision * float64(centre[i])
		}
	}
}

// move adds to lambda the change, a vector of lattice steps in the coordinates
// around centre, times the damping alpha. The way back from those coordinates is
// exact: h gains Λc, and c is a multiple of 2^-centreBits.
func (p *Protocol) move(lambda []Wide, change []int64, alpha int64, centre []int64) {
	if !p.centred() {
		for i, n := range change {
			lambda[i] = lambda[i].add(product(n, alpha))
		}
		return
	}
	for i, n := range change {
		lambda[i] = lambda[i].add(product(n, alpha<<centreBits))
	}
	d := len(centre)
	for k, at := range p.entry {
		i, j := at[0], at[1]
		lambda[i] = lambda[i].add(product(change[d+k], alpha*centre[j]))
		if i != j {
			lambda[j] = lambda[j].add(product(change[d+k], alpha*centre[i]))
		}
	}
}
