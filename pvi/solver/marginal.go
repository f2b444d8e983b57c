package solver

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"fedpvi/internal/quadrature"
)

// A Density writes to dst the log density of one outcome at several points. Each point has a value
// for each of the outcome's predictors. eta holds the points one after another.
type Density func(dst, eta []float64)

// LogMean returns the log of the mean of exp(f), if the predictors are normal with the given mean
// and covariance. cov holds the covariance by rows.
//
// If the density is much narrower than the distribution of the predictors, every point of a rule
// for that distribution can miss the density. The points are therefore placed near a mode of the
// product of the density and the distribution of the predictors (Liu and Pierce, "A note on
// Gauss–Hermite quadrature", 1994).
//
// The width of the density along one predictor often depends on another, as for a mean and a log
// sd. Then no normal distribution is near the product. For two and three predictors, LogMean places
// points along all predictors but one, and for each of them separate points along this one.
//
// For three predictors with wide and strongly correlated distributions, errors up to 0.2 were seen.
// doubt is the difference from a sum with fewer points, if one was computed.
func LogMean(f Density, mean, cov []float64) (log, doubt float64) {
	m := &marginal{density: f, mean: mean, cov: cov}
	m.arrange(m.pivots(m.relevant()))
	switch r := len(m.order); r {
	case 0:
		log = m.at(nil)[0]
	case 1:
		log, doubt = m.nested(m.best(startOf[r]))
	case 2, 3:
		var variation float64
		if log, variation = around(make([]float64, r), m.product, m.product, ruleOf[r]); !(variation < varied) {
			log, doubt = m.nested(m.best(startOf[r]))
		}
	default:
		rule := quadrature.New(r)
		log, _ = around(m.best(rule), m.product, m.product, rule)
	}
	if math.IsNaN(doubt) { // the difference of two infinite numbers
		doubt = 0
	}
	return log, doubt
}

// A marginal computes a mean over predictors. The predictors are mean + root·z for a standard normal
// vector z.
type marginal struct {
	density   Density
	mean, cov []float64
	order     []int     // predictors that span the distribution of all; predictor order[k] depends on the first k+1 elements of z
	root      []float64 // by rows: one for each predictor, with an element for each element of z
}

// at returns the log density at points of z.
func (m *marginal) at(z []float64) []float64 {
	k, r := len(m.mean), len(m.order)
	n := 1
	if r > 0 {
		n = len(z) / r
	}
	eta, logs := make([]float64, 0, n*k), make([]float64, n)
	for i := range n {
		for a, mean := range m.mean {
			for b := range r {
				mean += m.root[a*r+b] * z[i*r+b]
			}
			eta = append(eta, mean)
		}
	}
	m.density(logs, eta)
	return logs
}

// product returns the log of the density times exp(−|z|²/2) at points of z.
func (m *marginal) product(z []float64) []float64 {
	logs, r := m.at(z), len(m.order)
	for i := range logs {
		p := z[i*r : (i+1)*r]
		logs[i] -= floats.Dot(p, p) / 2
	}
	return logs
}

// relevant returns the predictors on which the density depends. It tests this by the values at
// several points.
func (m *marginal) relevant() []int {
	k := len(m.mean)
	if k == 1 {
		return []int{0}
	}
	moves := []float64{0, -3, -1, 1, 3} // in sds
	var eta []float64
	for a := range k {
		for _, move := range moves {
			eta = append(eta, m.mean...)
			eta[len(eta)-k+a] += move * math.Sqrt(m.cov[a*k+a])
		}
	}
	logs := make([]float64, k*len(moves))
	m.density(logs, eta)
	var relevant []int
	for a := range k {
		some := logs[a*len(moves) : (a+1)*len(moves)]
		if math.IsInf(some[0], 0) || slices.Max(some) != slices.Min(some) {
			relevant = append(relevant, a)
		}
	}
	return relevant
}

// negligible is the share of a predictor's variance below which the rest of the variance is a
// rounding error.
const negligible = 1e-10

// pivots returns those candidates that together determine the others, in the order of a Cholesky
// decomposition with pivots.
func (m *marginal) pivots(candidates []int) (order []int) {
	k := len(m.mean)
	rest := slices.Clone(m.cov)
	for range candidates {
		best, most := -1, negligible
		for _, a := range candidates {
			if share := rest[a*k+a] / m.cov[a*k+a]; share > most && !slices.Contains(order, a) {
				best, most = a, share
			}
		}
		if best < 0 {
			break
		}
		order = append(order, best)
		column(rest, k, best)
	}
	return order
}

// arrange sets the order of the predictors and computes the root.
func (m *marginal) arrange(order []int) {
	k, r := len(m.mean), len(order)
	m.order, m.root = order, make([]float64, k*r)
	rest := slices.Clone(m.cov)
	for b, pivot := range order {
		for a, x := range column(rest, k, pivot) {
			m.root[a*r+b] = x
		}
	}
}

// column returns the column of the root that belongs to the pivot a, and subtracts its part of the
// covariance from rest.
func column(rest []float64, k, a int) []float64 {
	c, sd := make([]float64, k), math.Sqrt(rest[a*k+a])
	for b := range c {
		c[b] = rest[b*k+a] / sd
	}
	for i, x := range c {
		for j, y := range c {
			rest[i*k+j] -= x * y
		}
	}
	return c
}

// startOf has the rules for the start of the search, by number of predictors. ruleOf has the rules
// for products that are nearly normal densities. The last three are for the first two of three
// predictors.
var (
	startOf = map[int]*quadrature.Rule{1: quadrature.Product(1, 32), 2: quadrature.Product(2, 8), 3: quadrature.Product(3, 5)}
	ruleOf  = map[int]*quadrature.Rule{2: quadrature.Product(2, 6), 3: quadrature.Product(3, 5)}

	shortPair, pairRule, wideRule = quadrature.Product(2, 6), quadrature.Product(2, 8), quadrature.Product(2, 12)
)

// varied is the largest variation ([around]) of a product that counts as a normal density.
const varied = 0.2

// best returns the point of a rule at which the product is largest.
func (m *marginal) best(rule *quadrature.Rule) []float64 {
	logs, r, best := m.product(rule.Points), len(m.order), 0
	for i, x := range logs {
		if x > logs[best] || math.IsNaN(logs[best]) {
			best = i
		}
	}
	return slices.Clone(rule.Points[best*r : (best+1)*r])
}

// doubtful is a doubt from which on the order of the predictors is changed.
const doubtful = 0.01

// nested returns the result for up to three predictors. It begins with the order in which the density is closest to a
// normal density along the last predictor, and tries other orders if the result is doubtful. z is
// the start of the search for a mode.
func (m *marginal) nested(z []float64) (log, doubt float64) {
	for n, c := range m.choices(z) {
		if one, off := c.integral(); n == 0 || off < doubt {
			log, doubt = one, off
		}
		if !(doubt > doubtful) {
			break
		}
	}
	return log, doubt
}

// integral returns the result for up to three predictors, and a doubt. The first two of three
// predictors share a rule, which is near the mode or, if that is doubtful, near the mean.
func (c choice) integral() (log, doubt float64) {
	if len(c.order) < 3 {
		logs, doubts := c.lines(nil, 0).sums(c.then(nil, 0, c.integrals))
		return logs[0], doubts[0]
	}
	heights := func(first []float64) []float64 { return c.heights(first, 2) }
	integrals := func(first []float64) []float64 { return c.integrals(first, 2) }
	log, _ = around(c.at[:2], heights, integrals, pairRule)
	other, _ := around(c.at[:2], heights, integrals, shortPair)
	if doubt = math.Abs(log - other); doubt > doubtful {
		all, fewer := spread(integrals, wideRule), spread(integrals, pairRule)
		if off := math.Abs(all - fewer); off < doubt {
			log, doubt = all, off
		}
	}
	return log, doubt
}

// spread returns the log of the integral of a function, divided by (2π)^(r/2) where r is the length
// of z, by a rule for a standard normal z. f returns logs of the function at points.
func spread(f func(points []float64) []float64, rule *quadrature.Rule) float64 {
	logs := slices.Clone(f(rule.Points))
	r := len(rule.Points) / len(logs)
	for n := range logs {
		u := rule.Points[n*r : (n+1)*r]
		logs[n] += math.Log(rule.Weights[n]) + floats.Dot(u, u)/2
	}
	return floats.LogSumExp(logs)
}

// A choice is a marginal in which the last predictor is integrated first.
type choice struct {
	*marginal
	at []float64 // start of the search for the mode
}

// choices returns m with each predictor as the last one, the one with the least bend first. z is
// the start of the search of m.
func (m *marginal) choices(z []float64) (all []choice) {
	r := len(m.order)
	bends := map[int]float64{} // by the last predictor
	for last, a := range m.order {
		order, at := slices.Clone(m.order), make([]float64, r)
		order[last], order[r-1] = order[r-1], a
		c := choice{&marginal{density: m.density, mean: m.mean, cov: m.cov}, at}
		c.arrange(order)
		for k, b := range order { // forward substitution
			row := c.root[b*r : (b+1)*r]
			at[k] = (floats.Dot(m.root[b*r:(b+1)*r], z) - floats.Dot(row[:k], at[:k])) / row[k]
		}
		bends[a], all = c.bend(), append(all, c)
	}
	slices.SortStableFunc(all, func(x, y choice) int { return cmp.Compare(bends[x.order[r-1]], bends[y.order[r-1]]) })
	return all
}

// then returns f as a function of element j of z. first has the elements before it of several
// points, and which are the numbers of these points.
func (c choice) then(first []float64, j int, f func(first []float64, j int) []float64) func(which []int, x []float64) []float64 {
	return func(which []int, x []float64) []float64 {
		next := make([]float64, 0, (j+1)*len(x))
		for i, x := range x {
			next = append(next, first[which[i]*j:(which[i]+1)*j]...)
			next = append(next, x)
		}
		return f(next, j+1)
	}
}

// lines returns a normal density near the integrals along element j of z and the later ones, for
// several values of the first j elements.
func (c choice) lines(first []float64, j int) *lines {
	n := 1
	if j > 0 {
		n = len(first) / j
	}
	start := slices.Repeat(c.at[j:j+1], n)
	return newLines(c.then(first, j, c.heights), start)
}

// heights returns approximate logs of the integrals along element j of z and the later ones, by
// Laplace's method.
func (c choice) heights(first []float64, j int) []float64 {
	if j == len(c.order) {
		return c.product(first)
	}
	l := c.lines(first, j)
	for i, sd := range l.sd {
		l.height[i] += math.Log(sd)
	}
	return l.height
}

// integrals returns logs of the integrals along element j of z and the later ones, divided by √(2π)
// for each element.
func (c choice) integrals(first []float64, j int) []float64 {
	if j == len(c.order) {
		return c.product(first)
	}
	logs, _ := c.lines(first, j).sums(c.then(first, j, c.integrals))
	return logs
}

// bend measures how much the density differs from a normal density, as a function of the last
// element of z on the line through c.at. It is infinite if the density hardly depends on this
// element.
func (c choice) bend() float64 {
	const far = 2 // in sds
	n := len(c.at) - 1
	f := c.then(c.at[:n], n, c.heights)
	l := newLines(f, c.at[n:])
	ends := f([]int{0, 0}, []float64{l.mode[0] - far*l.sd[0], l.mode[0] + far*l.sd[0]})
	drop, effect := l.height[0]-far*far/2., 1-l.sd[0]*l.sd[0]
	if !(effect > 0) {
		return math.Inf(1)
	}
	return (math.Abs(ends[0]-drop) + math.Abs(ends[1]-drop)) / effect
}
