package accountant

import (
	"cmp"
	"math"
	"slices"
)

// masses is a discrete distribution of the privacy loss. A loss is a multiple of the width of a
// grid, or infinite. Several entries can have the same index.
type masses struct {
	index    []int
	mass     []float64
	infinite float64
	cut      bool // whether the distribution is incomplete because it would have more than maxCells cells
}

// maxCells is the maximum number of cells in the discretised loss of one event.
const maxCells = 1 << 19

// full reports whether the distribution has more than maxCells cells. If it has, full also sets
// cut.
func (m *masses) full() bool {
	m.cut = m.cut || len(m.index) > maxCells
	return m.cut
}

func (m *masses) add(index int, mass float64) {
	if mass > 0 {
		m.index = append(m.index, index)
		m.mass = append(m.mass, mass)
	}
}

// A grid divides the losses into cells. Each boundary of a cell is offset plus a multiple of
// width. The boundaries are one width apart where the tilted loss has most of its mass, and
// further apart in the tails. The error of ε due to discretisation grows with the mass of a cell
// and with the square of its width. The cells therefore double in width whenever the mass beyond
// them has fallen by a factor of 2^2.5.
type grid struct {
	width       float64
	offset      float64   // loss of the grid point 0
	left, right []float64 // losses beyond which the cells are 2, 4, 8, ... widths wide
}

// at returns the loss of a grid point.
func (g grid) at(index int) float64 { return g.offset + float64(index)*g.width }

// below returns the largest grid point whose loss is at most loss.
func (g grid) below(loss float64) int { return int(math.Floor((loss - g.offset) / g.width)) }

// newGrid makes a grid for the distribution l of a loss L, tilted by e^(order·L). If aligned is
// true, newGrid finds the interval of length width with the largest tilted mass, and places a grid
// point at the mean loss in this interval. This helps if the sampling probability is less than
// width, because almost all mass would otherwise lie between two grid points.
func newGrid(l law, order, width, cut float64, aligned bool) grid {
	g := grid{width: width}
	m := l.moments(order, 0, cut)
	if m == nil {
		return g
	}
	k, _, _ := m.cumulant(order)
	n := len(m.loss)
	by := make([]int, n)
	for i := range by {
		by[i] = i
	}
	slices.SortFunc(by, func(i, j int) int { return cmp.Compare(m.loss[i], m.loss[j]) })
	tilted := func(i int) float64 { return math.Exp(m.logWeight[i] + order*m.loss[i] - k) }
	if aligned {
		g.offset = heaviest(l, m.loss, tilted, by, width)
	}
	most := 1 / (1 + order)
	fill := func(order func(step int) int) (edges []float64) {
		var beyond float64
		step := 0
		for level := 40; level > 0; level-- {
			goal := 0.25 * math.Pow(2, -2.5*float64(level))
			for step < n && beyond+tilted(order(step)) <= goal {
				beyond += tilted(order(step))
				step++
			}
			if step == 0 || math.Ldexp(width, level) > most {
				continue
			}
			edges = append(edges, m.loss[order(step-1)])
		}
		slices.Reverse(edges)
		return edges
	}
	g.right = fill(func(step int) int { return by[n-1-step] })
	g.left = fill(func(step int) int { return by[step] })
	return g
}

// heaviest searches for the interval of length width with the largest mass, and returns the mean
// loss in this interval. If a single atom has more than half of this mass, heaviest returns the
// loss of this atom. ascending lists the indices of loss, in ascending order of the losses.
func heaviest(l law, loss []float64, mass func(i int) float64, ascending []int, width float64) float64 {
	var most, inside, moment, mean float64
	first := 0
	for _, i := range ascending {
		w := mass(i)
		inside, moment = inside+w, moment+w*loss[i]
		for ; loss[i]-loss[ascending[first]] > width; first++ {
			w := mass(ascending[first])
			inside, moment = inside-w, moment-w*loss[ascending[first]]
		}
		if inside > most {
			most, mean = inside, moment/inside
		}
	}
	for i := range l.atoms { // the atoms are the first nodes of the quadrature rule
		if mass(i) > most/2 {
			return loss[i]
		}
	}
	return mean
}

// after returns the next boundary of the grid: the grid point at the upper end of the cell that
// begins at the grid point index.
func (g grid) after(index int) int {
	from := g.at(index)
	for level := max(len(g.left), len(g.right)); level > 0; level-- {
		to := index + 1<<level
		if level <= len(g.right) && from >= g.right[level-1] ||
			level <= len(g.left) && g.at(to) <= g.left[level-1] {
			return to
		}
	}
	return index + 1
}

// before returns the previous boundary of the grid: the grid point at the lower end of the cell
// that ends at the grid point index. It is used where cells are built from the largest loss
// downwards.
func (g grid) before(index int) int {
	from := g.at(index)
	for level := max(len(g.left), len(g.right)); level > 0; level-- {
		to := index - 1<<level
		if level <= len(g.left) && from <= g.left[level-1] ||
			level <= len(g.right) && g.at(to) >= g.right[level-1] {
			return to
		}
	}
	return index - 1
}

// split returns a distribution on the grid that dominates l: its δ(ε) is at least the δ(ε) of l for
// every ε. The mass of a cell [a, b] of losses is divided between its ends so that the total masses
// under P and Q do not change. With the densities p and q of P and Q, the end b gets
//
//	∫ (p − e^a q) / (1 − e^(a−b))
//
// ("connect the dots": Doroshenko et al., "Connect the Dots: Tighter Discrete Approximations of
// Privacy Loss Distributions", 2022). Each cell is computed separately, so that small masses keep
// their accuracy. A mass under P of at most cut is moved to an infinite loss.
func (l law) split(g grid, cut float64) masses {
	m := masses{infinite: l.infinite}
	for _, a := range l.atoms {
		index := g.below(a.loss)
		low := g.at(index)
		up := a.mass * -math.Expm1(low-a.loss) / -math.Expm1(-g.width)
		m.add(index, a.mass-up)
		m.add(index+1, up)
	}
	for _, p := range l.parts {
		lo, _ := p.reach(0)
		lo, hi := max(p.lo, lo), min(p.hi, p.right(cut))
		if lo >= hi {
			m.infinite += p.tail(max(p.lo, hi))
			continue
		}
		index := g.below(p.loss(lo))
		if math.IsInf(p.lo, -1) {
			m.add(index+1, belowReach)
		}
		for x := lo; x < hi && !m.full(); {
			next := g.after(index)
			end := min(hi, max(x, p.at(g.at(next))))
			a := g.at(index)
			inP, inQ := p.integrate(x, end, math.Exp(a))
			up := min(inP, max(0, inQ)/-math.Expm1(a-g.at(next)))
			m.add(index, inP-up)
			m.add(next, up)
			x, index = end, next
		}
		if math.IsInf(p.hi, 1) {
			m.infinite += p.tail(hi)
		}
	}
	return m
}

// belowReach bounds the probability, under P, of the outputs below the interval that the method
// reach of a [pair] returns. The interval begins span standard deviations below the mean.
const belowReach = 1e-22

// integrate returns ∫ p and ∫ (p − factor·q) over the interval from lo to hi, where p and q are the
// densities of the part. Both integrals have an error of about 10⁻¹³·∫ p.
func (p part) integrate(lo, hi, factor float64) (mass, excess float64) {
	smooth, _ := p.scale(0)
	width := hi - lo
	// The densities change noticeably over a distance of about smooth, and in the tails over a
	// shorter distance. t is the width of the interval in units of this distance.
	t := width / smooth * (1 + max(math.Abs(lo), math.Abs(hi))/smooth)
	r, panels := rule3, 1
	switch {
	case t > 4:
		r, panels = rule10, int(math.Ceil(t/4))
		width /= float64(panels)
	case t > 0.4:
		r = rule10
	case t > 0.04:
		r = rule5
	}
	for k := range panels {
		start := lo + float64(k)*width
		for i, node := range r.nodes {
			a, b := p.densities(start + width*node)
			mass += r.weights[i] * a
			excess += r.weights[i] * (a - factor*b)
		}
	}
	return mass * width, excess * width
}

// merge returns a distribution on the grid that l dominates. It replaces each cell of outputs with
// one output. This is post-processing. The loss of the merged output is the logarithm of the ratio
// of its masses under P and Q. The cells are chosen so that this loss is on the grid: a cell
// begins at a loss below its grid point and is extended until the merged output has the loss of
// the grid point. The losses of atoms, and of the last cell, are rounded down to the grid. A mass
// under P of at most cut is left out.
func (l law) merge(g grid, cut float64) masses {
	m := masses{infinite: l.infinite}
	for _, a := range l.atoms {
		m.add(g.below(a.loss), a.mass)
	}
	for _, p := range l.parts {
		lo, _ := p.reach(0)
		lo, hi := max(p.lo, lo), min(p.hi, p.right(cut))
		switch {
		case lo >= hi:
		case g.offset != 0 && p.loss(hi)-g.offset < g.width:
			// The interval from lo to hi is so narrow that the last cell would contain most of the
			// mass. Rounding the loss of this cell would make the bound much looser. The cells are
			// therefore built from the largest loss downwards.
			p.mergeDown(&m, g, lo, hi)
		default:
			p.mergeInto(&m, g, lo, hi)
		}
	}
	return m
}

func (p part) mergeInto(m *masses, g grid, lo, hi float64) {
	index := g.below(p.loss(lo)) + 1
	var shift float64 // predicts the end of the next cell: (part of the last cell above its grid point)/(part below it) − 1
	for begin := lo; !m.full(); {
		at := g.at(index)
		reach := at - p.loss(begin)
		end, mass, ok := p.mergeCell(begin, hi, at, at+reach*(1+shift), (mergeError*g.width + 8*unit))
		if !ok {
			p.mergeRest(m, g, begin, hi)
			return
		}
		m.add(index, mass)
		loss := p.loss(end)
		shift = max(-0.5, min((loss-at)/reach-1, 1))
		begin, index = end, g.after(index)
		for g.at(index) <= loss {
			index++
		}
	}
}

// mergeDown merges the outputs from lo to hi into cells, like mergeInto, but begins with the cell
// of the largest loss and continues downwards.
func (p part) mergeDown(m *masses, g grid, lo, hi float64) {
	index := g.below(p.loss(hi))
	if g.at(index) == p.loss(hi) {
		index--
	}
	for end := hi; !m.full(); {
		at := g.at(index)
		begin, mass, ok := p.mergeCellDown(lo, end, at, mergeError*g.width+8*unit)
		if !ok {
			p.mergeRest(m, g, lo, end)
			return
		}
		m.add(index, mass)
		for end, index = begin, g.before(index); g.at(index) >= p.loss(end); {
			index--
		}
	}
}

// mergeRest merges the outputs from lo to hi into a single cell, and rounds the loss of this cell
// down to a grid point.
func (p part) mergeRest(m *masses, g grid, lo, hi float64) {
	rest, excess := p.integrate(lo, hi, 1)
	if rest > 0 && rest > excess {
		m.add(g.below(math.Log(rest/(rest-excess))), rest)
	}
}

// mergeCell computes the cell that begins at the output begin, and returns its end and its mass
// under P. The end is chosen so that the loss of the merged output is target. It is equal to target
// up to an error of about tolerance. If the cell would end beyond hi, ok is false. guess is an
// estimate of the loss at the end of the cell, with which the search begins.
func (p part) mergeCell(begin, hi, target, guess, tolerance float64) (end, mass float64, ok bool) {
	factor := math.Exp(target)
	// Let p and q be the densities of the part, and let l = target. Consider the integral ∫ (p −
	// e^l·q) from begin to a variable upper limit. The integral falls while the loss at the upper
	// limit is below l. Afterwards the integral rises.
	return p.balance(max(begin, p.at(target)), hi, p.at(guess), factor, tolerance, 1, func(end float64) (mass, excess float64) {
		return p.integrate(begin, end, factor)
	})
}

// mergeCellDown computes the cell that ends at the output end, and returns its beginning and its
// mass under P. The beginning is chosen so that the loss of the merged output is target. If the
// cell would begin before lo, ok is false.
func (p part) mergeCellDown(lo, end, target, tolerance float64) (begin, mass float64, ok bool) {
	factor := math.Exp(target)
	// Let p and q be the densities of the part, and let l = target. Consider the integral ∫ (p −
	// e^l·q) from a variable lower limit to end. As the lower limit decreases, the integral rises
	// until the loss at the lower limit is l. Afterwards the integral falls.
	high := min(end, p.at(target))
	return p.balance(lo, high, high, factor, tolerance, -1, func(begin float64) (mass, excess float64) {
		return p.integrate(begin, end, factor)
	})
}

// balance searches between low and high for the limit x at which the integral excess of p −
// factor·q is zero, up to tolerance times the integral mass of p. The search begins at guess. side
// is 1 if x is the upper limit of the integrals, and −1 if it is the lower limit. If there is no
// such x, ok is false.
func (p part) balance(low, high, guess, factor, tolerance, side float64, integrals func(x float64) (mass, excess float64)) (x, mass float64, ok bool) {
	if low >= high {
		return 0, 0, false
	}
	x = guess
	for range 60 {
		if !(x > low && x < high) {
			if x = low + (high-low)/2; x == low || x == high {
				break
			}
		}
		mass, excess := integrals(x)
		if math.Abs(excess) <= tolerance*mass {
			return x, mass, true
		}
		if excess < 0 {
			low = x
		} else {
			high = x
		}
		a, b := p.densities(x)
		x -= side * (excess / (a - factor*b))
	}
	return 0, 0, false
}

// mergeError bounds the difference between the loss of a merged cell and the loss of its grid
// point, in units of the grid width.
const mergeError = 1e-9
