package accountant

import (
	"cmp"
	"math"
	"slices"
)

// masses is a distribution of the privacy loss on a grid. Each loss is infinite or a multiple of
// the grid width. Several entries may have the same index.
type masses struct {
	index    []int
	mass     []float64
	infinite float64
	cut      bool // whether the distribution is incomplete because it would have more than maxCells cells
}

// maxCells is the maximum number of cells for the discretised loss of one event.
const maxCells = 1 << 19

// full reports whether the distribution has more than maxCells cells. If so, it sets cut.
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

// A grid divides the losses into cells. Each boundary is offset plus a multiple of width. The error
// of ε grows with a cell's mass and with the square of its width. So where most of the tilted mass
// is, the cells are one width wide. Further out, the cell width doubles whenever the mass beyond
// has fallen by a factor of 2^2.5.
type grid struct {
	width       float64
	offset      float64   // loss at grid point 0
	left, right []float64 // beyond these losses, the cells are 2, 4, 8, ... widths wide
}

func (g grid) at(index int) float64 { return g.offset + float64(index)*g.width }

// below returns the largest grid point whose loss does not exceed loss.
func (g grid) below(loss float64) int { return int(math.Floor((loss - g.offset) / g.width)) }

// newGrid makes a grid for the distribution l of a loss L, tilted by e^(order·L). If aligned is
// true, it looks for the interval of length width that has the most tilted mass, and puts a grid
// point at the mean loss in this interval. Without this, almost all mass would lie between two grid
// points if the sampling probability is below width.
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

// heaviest returns the mean loss in the interval of length width that has the most mass. If an atom
// has more than half of this mass, heaviest returns the atom's loss instead. ascending has the
// indices of loss, sorted by loss.
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

// after returns the upper end of the cell that begins at the given grid point.
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

// before returns the lower end of the cell that ends at the given grid point. It is used if cells
// are built downwards from the largest loss.
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

// split returns a distribution on the grid that dominates l: its δ(ε) is at least that of l for
// every ε. It splits the mass in each cell [a, b] between the two ends, without changing the total
// masses under P and Q. If p and q are the densities of P and Q, the end b gets
//
//	∫ (p − e^a q) / (1 − e^(a−b))
//
// (Doroshenko et al., "Connect the Dots: Tighter Discrete Approximations of Privacy Loss
// Distributions", 2022). Each cell is computed on its own, so that small masses stay accurate. A
// mass of at most cut, under P, is moved to an infinite loss.
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

// belowReach bounds the probability, under P, of the outputs below the interval of [pair.reach].
// This interval begins span standard deviations below the mean.
const belowReach = 1e-22

// integrate returns ∫ p and ∫ (p − factor·q) over the interval from lo to hi, where p and q are the
// part's densities. The error of both integrals is about 10⁻¹³·∫ p.
func (p part) integrate(lo, hi, factor float64) (mass, excess float64) {
	smooth, _ := p.scale(0)
	width := hi - lo
	// t is the width of the interval, in units of the distance over which the densities change
	// noticeably. This distance is about smooth, but shorter in the tails.
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

// merge returns a distribution on the grid that l dominates. It merges all outputs in a cell into
// one, which is post-processing. The loss of the merged output is the logarithm of the ratio
// between the cell's masses under P and Q. A cell begins at a loss below its grid point, and is
// just long enough for the merged loss to be at the grid point. Atoms and the last cell are rounded
// down to the grid. A mass of at most cut, under P, is left out.
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
			// Most of the mass would be in the last cell, and rounding its loss would make the
			// bound much looser. So build the cells downwards from the largest loss.
			p.mergeDown(&m, g, lo, hi)
		default:
			p.mergeInto(&m, g, lo, hi)
		}
	}
	return m
}

func (p part) mergeInto(m *masses, g grid, lo, hi float64) {
	index := g.below(p.loss(lo)) + 1
	var shift float64 // predicts where the next cell ends: (last cell's part above its grid point)/(part below) − 1
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

// mergeDown is like mergeInto, but builds the cells downwards from the largest loss.
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

// mergeRest merges the outputs from lo to hi into a single cell, and rounds its loss down to a grid
// point.
func (p part) mergeRest(m *masses, g grid, lo, hi float64) {
	rest, excess := p.integrate(lo, hi, 1)
	if rest > 0 && rest > excess {
		m.add(g.below(math.Log(rest/(rest-excess))), rest)
	}
}

// mergeCell returns the end and the mass, under P, of the cell that begins at the output begin and
// has the merged loss target, to about tolerance. If the cell would end beyond hi, ok is false. The
// search begins at guess, an estimate of the loss at the end.
func (p part) mergeCell(begin, hi, target, guess, tolerance float64) (end, mass float64, ok bool) {
	factor := math.Exp(target)
	// Let p and q be the part's densities, and l = target. The integral ∫ (p − e^l·q) from begin
	// falls as long as the loss at its upper limit is below l, and rises afterwards.
	return p.balance(max(begin, p.at(target)), hi, p.at(guess), factor, tolerance, 1, func(end float64) (mass, excess float64) {
		return p.integrate(begin, end, factor)
	})
}

// mergeCellDown returns the beginning and the mass, under P, of the cell that ends at the output
// end and has the merged loss target. If the cell would begin before lo, ok is false.
func (p part) mergeCellDown(lo, end, target, tolerance float64) (begin, mass float64, ok bool) {
	factor := math.Exp(target)
	// Let p and q be the part's densities, and l = target. As the lower limit decreases, the
	// integral ∫ (p − e^l·q) up to end rises until the loss at this limit is l, and falls
	// afterwards.
	high := min(end, p.at(target))
	return p.balance(lo, high, high, factor, tolerance, -1, func(begin float64) (mass, excess float64) {
		return p.integrate(begin, end, factor)
	})
}

// balance looks between low and high for the limit x at which the integral excess of p − factor·q
// is zero, up to tolerance times the integral mass of p. If side is 1, x is the upper limit of the
// integrals, and if side is −1, the lower one. If there is no such x, ok is false.
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

// mergeError bounds how far a merged cell's loss is from its grid point, in grid widths.
const mergeError = 1e-9
