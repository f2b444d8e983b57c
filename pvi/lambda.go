package pvi

import "math"

// A view is what a machine knows of q: λ on the lattice and what follows from
// it. Server and sites each keep one, and their λ never differ. (Their floats may
// in the last bit, on different machines.)
type view struct {
	protocol *Protocol
	lambda   []Wide    // λ − λ_prior
	natural  []float64 // of q
	mean     []float64 // of q
	meanOf   func(dst, nat []float64) error

	next        []Wide // what try computed
	nextNatural []float64
	nextMean    []float64
}

// newView returns the view of the prior.
func newView(p *Protocol) *view {
	d, n := p.family.Dim(), p.family.Size()
	v := &view{
		protocol: p,
		lambda:   make([]Wide, n), natural: make([]float64, n), mean: make([]float64, d),
		meanOf: p.family.Means(),
		next:   make([]Wide, n), nextNatural: make([]float64, n), nextMean: make([]float64, d),
	}
	if !v.set(v.lambda) {
		panic("pvi: the prior is not proper") // unreachable: NewProtocol made it from moments
	}
	return v
}

// try computes the λ to which the change of plan number n leads, in coordinates
// around centre, and reports whether it is a proper distribution. The view stays
// as it is until commit.
func (v *view) try(n int, change, centre []int64) (proper bool) {
	copy(v.next, v.lambda)
	v.protocol.move(v.next, change, v.protocol.damping(n), centre)
	return v.tryLambda()
}

func (v *view) tryLambda() (proper bool) {
	p := v.protocol
	for i, w := range v.next {
		v.nextNatural[i] = p.prior[i] + w.float(p.exponent)
	}
	return v.meanOf(v.nextMean, v.nextNatural) == nil
}

// commit makes what the last successful try computed the view.
func (v *view) commit() {
	v.lambda, v.next = v.next, v.lambda
	v.natural, v.nextNatural = v.nextNatural, v.natural
	v.mean, v.nextMean = v.nextMean, v.mean
}

// maxCentre bounds the centre of clipping coordinates: a mean beyond is noise.
const maxCentre = 1 << (centreLimit + centreBits)

// centre returns the mean of q as the centre of clipping coordinates, in units
// of 2^-centreBits; nil if the protocol has none.
func (v *view) centre() []int64 {
	if !v.protocol.centred() {
		return nil
	}
	centre := make([]int64, len(v.mean))
	for i, m := range v.mean {
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

// set makes lambda the view's λ if it is a proper distribution.
func (v *view) set(lambda []Wide) bool {
	copy(v.next, lambda)
	if !v.tryLambda() {
		return false
	}
	v.commit()
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
