package accountant

import (
	"math"
	"slices"
)

// masses is a discrete distribution of the privacy loss. Its values are multiples of the width
// of a grid, and infinity. An index may occur more than once.
type masses struct {
	index    []int
	mass     []float64
	infinite float64
	cut      bool // true if the distribution is incomplete because it would have more than maxCells cells
}

// maxCells is the maximum number of cells in the discretised loss of one event.
const maxCells = 1 << 19

// full reports whether the distribution has too many cells, and records this in the field cut.
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

// A grid holds the ends of cells, which are multiples of width. They are one width apart where
// the tilted loss has most of its mass, and further apart in the tails. The error of ε due to
// discretisation grows with the mass of a cell and with the square of its width. So the cells
// double in width whenever the mass outside of them has fallen by a factor of 2^2.5.
type grid struct {
	width       float64
	left, right []float64 // losses beyond which the cells are 2, 4, 8, ... widths wide
}

// newGrid makes the grid for the loss l tilted by e^(order·L).
func newGrid(l law, order, width, cut float64) grid {
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
	slices.SortFunc(by, func(i, j int) int {
		switch {
		case m.loss[i] < m.loss[j]:
			return -1
		case m.loss[i] > m.loss[j]:
			return 1
		}
		return 0
	})
	tilted := func(i int) float64 { return math.Exp(m.logWeight[i] + order*m.loss[i] - k) }
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

// after returns the index at which the cell that begins at index ends.
func (g grid) after(index int) int {
	from := float64(index) * g.width
	for level := max(len(g.left), len(g.right)); level > 0; level-- {
		to := index + 1<<level
		if level <= len(g.right) && from >= g.right[level-1] ||
			level <= len(g.left) && float64(to)*g.width <= g.left[level-1] {
			return to
		}
	}
	return index + 1
}

// split returns a distribution on the grid that dominates l, which means that its δ(ε) is at
// least the δ(ε) of l for every ε. The mass of a cell [a, b] of losses is divided between its
// ends so that the total P-mass and Q-mass do not change. With the densities p and q of P and Q,
// the end b gets ∫ (p − e^a q) / (1 − e^(a−b)) ("connect the dots": Doroshenko et al., "Connect
// the Dots: Tighter Discrete Approximations of Privacy Loss Distributions", 2022). Each cell is
// computed separately, which keeps the digits of small masses. P-mass of at most cut goes to
// infinity.
func (l law) split(g grid, cut float64) masses {
	m := masses{infinite: l.infinite}
	for _, a := range l.atoms {
		index := int(math.Floor(a.loss / g.width))
		low := float64(index) * g.width
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
		index := int(math.Floor(p.loss(lo) / g.width))
		if math.IsInf(p.lo, -1) {
			m.add(index+1, belowReach)
		}
		for x := lo; x < hi && !m.full(); {
			next := g.after(index)
			end := min(hi, max(x, p.at(float64(next)*g.width)))
			a := float64(index) * g.width
			inP, inQ := p.integrate(x, end, math.Exp(a))
			up := min(inP, max(0, inQ)/-math.Expm1(a-float64(next)*g.width))
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

// belowReach bounds the probability (under P) to the left of the interval that the method reach
// returns. The interval begins span standard deviations below the mean.
const belowReach = 1e-22

// integrate returns ∫ p and ∫ (p − factor·q) over an interval, with an error of 10⁻¹³ of
// ∫ p.
func (p part) integrate(lo, hi, factor float64) (mass, excess float64) {
	smooth, _ := p.scale(0)
	width := hi - lo
	// The densities change on the length scale smooth, and faster in the tails.
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

// merge returns a distribution on the grid that l dominates. It replaces each cell of outputs by
// one output, which is post-processing. The loss of the merged output is the logarithm of P-mass
// over Q-mass, and the cells are chosen so that this loss is on the grid: a cell begins at a
// loss below its grid point, and ends where the merged output has the loss of the grid point.
// The losses of atoms, and of the last cell, are rounded down to the grid. P-mass of at most cut
// is left out.
func (l law) merge(g grid, cut float64) masses {
	m := masses{infinite: l.infinite}
	for _, a := range l.atoms {
		m.add(int(math.Floor(a.loss/g.width)), a.mass)
	}
	for _, p := range l.parts {
		lo, _ := p.reach(0)
		lo, hi := max(p.lo, lo), min(p.hi, p.right(cut))
		if lo < hi {
			p.mergeInto(&m, g, lo, hi)
		}
	}
	return m
}

func (p part) mergeInto(m *masses, g grid, lo, hi float64) {
	index := int(math.Floor(p.loss(lo)/g.width)) + 1
	var shift float64 // The grid point of a cell is about in the middle of the cell. shift is the relative deviation from the middle in the last cell.
	for begin := lo; !m.full(); {
		at := float64(index) * g.width
		reach := at - p.loss(begin)
		end, mass, ok := p.mergeCell(begin, hi, at, at+reach*(1+shift), (mergeError*g.width + 8*unit))
		if !ok {
			// The outputs that are left become one cell, at a grid point not above its loss.
			rest, excess := p.integrate(begin, hi, 1)
			if rest > 0 && rest > excess {
				m.add(int(math.Floor(math.Log(rest/(rest-excess))/g.width)), rest)
			}
			return
		}
		m.add(index, mass)
		loss := p.loss(end)
		shift = max(-0.5, min((loss-at)/reach-1, 1))
		begin, index = end, g.after(index)
		for float64(index)*g.width <= loss {
			index++
		}
	}
}

// mergeCell returns the end and the P-mass of the cell that begins at begin and whose merged
// output has the loss at. If the cell would end beyond hi, ok is false. guess is an estimate of
// the loss at the end.
func (p part) mergeCell(begin, hi, at, guess, tolerance float64) (end, mass float64, ok bool) {
	factor := math.Exp(at)
	// ∫ (p − e^at·q) from begin decreases up to the output whose loss is at, and increases from
	// there on.
	low, high := max(begin, p.at(at)), hi
	if low >= high {
		return 0, 0, false
	}
	end = p.at(guess)
	for range 60 {
		if !(end > low && end < high) {
			if end = low + (high-low)/2; end == low || end == high {
				break
			}
		}
		var excess float64
		mass, excess = p.integrate(begin, end, factor)
		if math.Abs(excess) <= tolerance*mass {
			return end, mass, true
		}
		if excess < 0 {
			low = end
		} else {
			high = end
		}
		a, b := p.densities(end)
		end -= excess / (a - factor*b)
	}
	return 0, 0, false
}

// mergeError bounds the distance between the loss of a merged cell and its grid point, in units
// of the grid width.
const mergeError = 1e-9
