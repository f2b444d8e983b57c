package solver

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/quadrature"
	"fedpvi/internal/special"
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

// Limits of the search for a mode.
const (
	mostSearched = 50
	searched     = 1e-3 // the search ends when the squared length of a step, in sds, is below this limit
	leastPart    = 1e-6 // least part of a step
	apart        = 1e-3 // step of differences of the product, along an axis of z
)

// lines holds a normal density near each of several functions of one number. Its mean is a mode of
// the function.
type lines struct {
	mode, sd, height []float64 // height is the log of the function at the mode
}

// newLines searches for modes from the given points by Newton's method with halved steps. f returns
// logs of the functions with the indices which at x.
func newLines(f func(which []int, x []float64) []float64, start []float64) *lines {
	l := &lines{mode: slices.Clone(start), sd: slices.Repeat([]float64{1}, len(start))}
	var active []int
	for i := range start {
		active = append(active, i)
	}
	l.height = slices.Clone(f(active, start))
	for range mostSearched {
		if active = l.climb(f, active); len(active) == 0 {
			break
		}
	}
	return l
}

// climb takes one step with the active functions and returns those whose search goes on.
func (l *lines) climb(f func(which []int, x []float64) []float64, active []int) []int {
	var which []int
	var x []float64
	for _, i := range active {
		which, x = append(which, i, i), append(x, l.mode[i]-apart, l.mode[i]+apart)
	}
	ends := f(which, x)
	step := make([]float64, len(l.mode))
	var moving []int
	for k, i := range active {
		down, up := ends[2*k], ends[2*k+1]
		precision := (2*l.height[i] - down - up) / (apart * apart)
		if !(precision > 1) || math.IsInf(precision, 1) { // the product is at least as narrow as the distribution of z
			precision = 1
		}
		l.sd[i] = 1 / math.Sqrt(precision)
		step[i] = (up - down) / (2 * apart * precision)
		if step[i]*step[i]*precision > searched {
			moving = append(moving, i)
		}
	}
	return l.advance(f, moving, step)
}

// tried is the number of halved steps that are tried together.
const tried = 4

// advance moves each function in moving by the largest part of its step, among halves, quarters and
// so on, that leads to a greater height. It returns the functions that moved.
func (l *lines) advance(f func(which []int, x []float64) []float64, moving []int, step []float64) (moved []int) {
	for part := 1.0; part >= leastPart && len(moving) > 0; part *= math.Pow(.5, tried) {
		var which, still []int
		var x []float64
		for _, i := range moving {
			for j := range tried {
				which, x = append(which, i), append(x, l.mode[i]+step[i]*part*math.Pow(.5, float64(j)))
			}
		}
		heights := f(which, x)
		for k, i := range moving {
			before := l.height[i]
			for j := k * tried; j < (k+1)*tried; j++ {
				if heights[j] > l.height[i] {
					l.height[i], l.mode[i] = heights[j], x[j]
				}
			}
			if l.height[i] > before {
				moved = append(moved, i)
			} else {
				still = append(still, i)
			}
		}
		moving = still
	}
	return moved
}

// Limits of sums.
const (
	reach      = 8 // the normal density is negligible beyond this distance from its mean, in sds
	widest     = 0.8
	steady     = 0.01 // the step is halved until the logs of two sums differ by less
	mostHalved = 5
)

// sums returns the log of the integral of each function over a number x, divided by √(2π). f
// returns logs of the functions, as in [newLines]. The second result is the difference from a sum
// with half of the points.
//
// The integral is a sum over evenly spaced t, with x = mode + sd·sinh(t). Such a sum converges
// exponentially with its step (Trefethen and Weideman, "The exponentially convergent trapezoidal
// rule", 2014). Its points are dense near the mode, and reach far enough for a narrow function with
// long tails. The step is halved until the sum hardly changes.
func (l *lines) sums(f func(which []int, x []float64) []float64) (logs, doubts []float64) {
	var active []int
	for i := range l.mode {
		active = append(active, i)
	}
	logs, doubts = make([]float64, len(active)), make([]float64, len(active))
	step := widest
	for halved := 0; halved <= mostHalved && len(active) > 0; halved++ {
		part := l.sum(f, active, step, halved > 0)
		var still []int
		for k, i := range active {
			before := logs[i]
			if logs[i] = part[k]; halved > 0 {
				logs[i] = floats.LogSumExp([]float64{before - math.Ln2, part[k]})
				doubts[i] = math.Abs(logs[i] - before)
			}
			if halved == 0 || doubts[i] > steady {
				still = append(still, i)
			}
		}
		active, step = still, step/2
	}
	return logs, doubts
}

// sum returns, for some of the functions, a sum over multiples of step. If odd is true, it is the
// sum over odd multiples only.
func (l *lines) sum(f func(which []int, x []float64) []float64, active []int, step float64, odd bool) (sums []float64) {
	var which, counts []int
	var x, weights []float64
	for _, i := range active {
		from, by := 0., step
		if odd {
			from, by = step, 2*step
		}
		last, before := math.Asinh((reach+math.Abs(l.mode[i]))/l.sd[i]), len(x)
		for t := from; t < last+by; t += by {
			for _, t := range []float64{-t, t}[:1+min(1, int(math.Ceil(t)))] { // 0 once
				which, x = append(which, i), append(x, l.mode[i]+l.sd[i]*math.Sinh(t))
				weights = append(weights, math.Log(step*l.sd[i]*math.Cosh(t))-special.HalfLogTwoPi)
			}
		}
		counts = append(counts, len(x)-before)
	}
	logs := slices.Clone(f(which, x))
	floats.Add(logs, weights)
	for _, n := range counts {
		sums, logs = append(sums, floats.LogSumExp(logs[:n])), logs[n:]
	}
	return sums
}

// around returns the log of the integral of a function, divided by (2π)^(r/2) where r is the length
// of z, by a rule for a normal distribution near the function. The mean of this distribution is a
// mode of search, which approximates the function up to a factor. Its precision is the negative
// Hessian at the mode, with eigenvalues of at least 1. The search starts at z. f and search return
// logs of the functions at points. variation is the sd of the ratio of the function to the normal
// density, relative to its mean.
func around(z []float64, search, f func(points []float64) []float64, rule *quadrature.Rule) (log, variation float64) {
	r := len(z)
	mode, root, logRoot := summit(search, z)
	points := make([]float64, 0, len(rule.Points)+r)
	for n := range rule.Weights {
		points = append(points, mode...)
		for a := range r {
			points[n*r+a] += floats.Dot(root.RawRowView(a), rule.Points[n*r:(n+1)*r])
		}
	}
	logs := f(append(points, mode...))
	height, logs := logs[len(rule.Weights)], logs[:len(rule.Weights)]
	if math.IsInf(height, 1) {
		return height, 0
	}
	for n := range logs {
		u := rule.Points[n*r : (n+1)*r]
		logs[n] += logRoot + floats.Dot(u, u)/2
	}
	largest := slices.Max(logs)
	var mean, square float64
	for n, weight := range rule.Weights {
		ratio := math.Exp(logs[n] - largest)
		mean, square = mean+weight*ratio, square+weight*ratio*ratio
	}
	return largest + math.Log(mean), math.Sqrt(max(square/(mean*mean)-1, 0))
}

// summit searches for a mode of a function from the point z, by Newton's method with halved steps.
// It returns the mode, a root of the inverse of the precision, and the log of the determinant of
// this root. f returns logs of the function at points.
func summit(f func(points []float64) []float64, z []float64) (mode []float64, root *mat.Dense, logRoot float64) {
	r := len(z)
	for range mostSearched {
		var slope *mat.VecDense
		var height float64
		height, slope, root, logRoot = shape(f, z)
		var along, step mat.VecDense // the gradient in units of root, and the step
		along.MulVec(root.T(), slope)
		if step.MulVec(root, &along); !(mat.Dot(&along, &along) > searched) {
			break
		}
		var steps []float64
		for part := 1.0; part >= leastPart; part /= 2 {
			steps = append(steps, z...)
			floats.AddScaled(steps[len(steps)-r:], part, step.RawVector().Data)
		}
		k := slices.IndexFunc(f(steps), func(x float64) bool { return x > height })
		if k < 0 {
			break
		}
		z = steps[k*r : (k+1)*r]
	}
	return z, root, logRoot
}

// shape returns the log of a function at z, its gradient, and a root of the inverse of the precision
// with the log of its determinant.
func shape(f func(points []float64) []float64, z []float64) (height float64, slope *mat.VecDense, root *mat.Dense, logRoot float64) {
	r := len(z)
	points := slices.Clone(z)
	move := func(a, b int, by float64) {
		points = append(points, z...)
		points[len(points)-r+a] += by
		if b != a {
			points[len(points)-r+b] += by
		}
	}
	for a := range r {
		for b := range a + 1 {
			move(a, b, apart)
			move(a, b, -apart)
		}
	}
	logs := f(points)
	height, logs = logs[0], logs[1:]
	slope, root = mat.NewVecDense(r, nil), mat.NewDense(r, r, nil)
	precision := mat.NewSymDense(r, nil)
	for a := range r {
		for b := range a + 1 { // the second derivative along the sum of the axes, if they differ
			k := 2 * (a*(a+1)/2 + b)
			precision.SetSym(a, b, (2*height-logs[k]-logs[k+1])/(apart*apart))
			if a == b {
				slope.SetVec(a, (logs[k]-logs[k+1])/(2*apart))
			}
		}
	}
	for a := range r {
		for b := range a {
			precision.SetSym(a, b, (precision.At(a, b)-precision.At(a, a)-precision.At(b, b))/2)
		}
		root.Set(a, a, 1)
	}
	var eigen mat.EigenSym
	if !special.Finite(precision.RawSymmetric().Data) || !eigen.Factorize(precision, true) {
		return height, slope, root, 0
	}
	eigen.VectorsTo(root)
	for b, value := range eigen.Values(nil) {
		value = max(value, 1)
		logRoot -= math.Log(value) / 2
		for a := range r {
			root.Set(a, b, root.At(a, b)/math.Sqrt(value))
		}
	}
	return height, slope, root, logRoot
}
