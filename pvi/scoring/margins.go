package scoring

import (
	"math"
	"slices"

	"fedpvi/internal/special"
)

// margins describes the distribution of each regressor, as far as the released sums determine it.
// Made-up records are drawn from these distributions. A regressor is a level or a number. For a
// level, the prior density of its share f is 1/f on a grid of log f. For a number, the mean has a
// normal prior, and the mean square s has the prior density 1/s.
type margins struct {
	*Problem
	unit         []float64 // unit of each number; until a release, its largest absolute value within the bounds
	share        []belief  // likelihood of the share of a level
	mean, square []belief  // likelihoods of the mean and the mean square of a number, in the unit of the number
	numbers      []joint   // joint density of the mean and the variance of each number, from mean and square
	factors      [][]int   // columns with the level indicators of each factor
}

// A belief is the likelihood of a number x given noisy releases of it. Up to a factor, it is exp(−½
// precision·x² + linear·x).
type belief struct{ precision, linear float64 }

func (b *belief) learn(x, variance float64) {
	b.precision += 1 / variance
	b.linear += x / variance
}

// These are beliefs about a number before any release, relative to its largest absolute value. The
// mean is 0 ± 0.4. The mean square is 1/3 ± 0.3, where 1/3 is the mean square of a uniform
// distribution.
const (
	meanSD, squareMean, squareSD = 0.4, 1.0 / 3, 0.3
	leastSquare                  = 1e-5
)

func (p *Problem) newMargins() *margins {
	n := len(p.columns)
	m := &margins{Problem: p, unit: make([]float64, n), share: make([]belief, n), mean: make([]belief, n), square: make([]belief, n)}
	levels := map[int][]int{}
	for j, c := range p.columns {
		m.unit[j] = 1
		if c.indicator == j {
			levels[c.factor] = append(levels[c.factor], j)
		}
		if c.value == j {
			if m.unit[j] = max(math.Abs(c.low), math.Abs(c.high)); m.unit[j] == 0 {
				m.unit[j] = 1
			}
			m.mean[j].learn(0, meanSD*meanSD)
			m.square[j].learn(squareMean, squareSD*squareSD)
		}
	}
	for j, c := range p.columns {
		if c.indicator == j && levels[c.factor][0] == j {
			m.factors = append(m.factors, levels[c.factor])
		}
	}
	m.join()
	return m
}

// marginSize returns the number of elements that margins are learned from.
func (p *Problem) marginSize() (n int) {
	for j := range p.columns {
		n += p.columns[j].elements(j)
	}
	return n
}

// elements returns the number of these elements for column j.
func (c *column) elements(j int) int {
	switch {
	case c.indicator == j:
		return 1
	case c.kind == number:
		return 2
	}
	return 0
}

// record writes the terms that a record adds to the sums about margins to dst. For a level this is
// an indicator, and for a number its value and its square. The indicator of a slope is 1 if the
// slope is not zero.
func (m *margins) record(dst, x []float64) {
	n := 0
	for j := range m.columns {
		c := &m.columns[j]
		switch c.elements(j) {
		case 1:
			if dst[n] = x[j]; c.kind == slope && x[j] != 0 {
				dst[n] = 1
			}
			n++
		case 2:
			v := x[j] / m.unit[j]
			dst[n], dst[n+1] = v, v*v
			n += 2
		}
	}
}

// learned returns the margins updated with released sums ([margins.record]), whose noise has
// standard deviation sd. If values turn out to be small, it reduces their unit.
func (m *margins) learned(sums []float64, sd float64) *margins {
	out := *m
	out.unit, out.share = slices.Clone(m.unit), slices.Clone(m.share)
	out.mean, out.square = slices.Clone(m.mean), slices.Clone(m.square)
	variance := sd * sd / (m.Records * m.Records)
	n := 0
	for j, c := range m.columns {
		switch c.elements(j) {
		case 1:
			out.share[j].learn(sums[n]/m.Records, variance)
			n++
		case 2:
			out.mean[j].learn(sums[n]/m.Records, variance)
			out.square[j].learn(sums[n+1]/m.Records, variance)
			n += 2
			out.rescale(j)
		}
	}
	out.join()
	return &out
}

// rescale reduces the unit of column j to twice an upper limit on the root mean square, but by no
// more than a factor of 100.
func (m *margins) rescale(j int) {
	s := &m.square[j]
	upper := math.Sqrt(max(s.linear/s.precision+2/math.Sqrt(s.precision), 1e-4))
	if upper >= 0.5 {
		return
	}
	r := max(2*upper, 1e-2)
	m.unit[j] *= r
	m.mean[j].precision *= r * r
	m.mean[j].linear *= r
	s.precision *= r * r * r * r
	s.linear *= r * r
}

// gridSize is the number of points in a grid of shares or of mean squares.
const gridSize = 120

// onGrid returns the posterior mean of the share of a level. b is its likelihood, and the prior
// density is 1/x. If u > 0, onGrid returns quantile u instead.
func (m *margins) onGrid(b belief, u float64) float64 {
	var logs, points [gridSize]float64
	least := math.Log(0.3 / m.Records)
	largest := math.Inf(-1)
	for i := range points {
		points[i] = math.Exp(least * (1 - float64(i)/(gridSize-1)))
		logs[i] = -b.precision*points[i]*points[i]/2 + b.linear*points[i]
		largest = max(largest, logs[i])
	}
	var total, mean float64
	for i, l := range logs {
		logs[i] = math.Exp(l - largest)
		total += logs[i]
		mean += logs[i] * points[i]
	}
	if u <= 0 {
		return mean / total
	}
	return points[pick(logs[:], u*total)]
}

// A joint is the joint posterior density of the mean and the variance of a numeric column, on a
// grid. The prior density is 1/variance. Simply subtracting the squared mean from the mean square
// would give a biased variance, because noise makes the squared mean too large.
type joint struct {
	variance, mean [jointSize]float64            // grid
	weight         [jointSize][jointSize]float64 // weights of the grid points, by variance and then by mean, which add up to 1
}

// jointSize is the number of means, and of variances, on the grid. The means are at most jointSDs
// posterior standard deviations away from the posterior mean.
const (
	jointSize = 41
	jointSDs  = 3.0
)

func (m *margins) join() {
	m.numbers = make([]joint, len(m.columns))
	for j, c := range m.columns {
		if c.value == j {
			m.numbers[j].set(m.mean[j], m.square[j], 0.3/m.Records)
		}
	}
}

func (b *joint) set(mean, square belief, least float64) {
	var logs [jointSize][jointSize]float64
	largest := math.Inf(-1)
	sd := 1 / math.Sqrt(mean.precision)
	for i := range b.mean {
		b.variance[i] = math.Exp(math.Log(least) * (1 - float64(i)/(jointSize-1)))
		b.mean[i] = mean.linear/mean.precision + jointSDs*sd*(2*float64(i)/(jointSize-1)-1)
	}
	for i, v := range b.variance {
		for k, x := range b.mean {
			s := v + x*x
			logs[i][k] = mean.log(x) + square.log(s)
			largest = max(largest, logs[i][k])
		}
	}
	var total float64
	for i := range logs {
		for k, l := range logs[i] {
			b.weight[i][k] = math.Exp(l - largest)
			total += b.weight[i][k]
		}
	}
	for i := range b.weight {
		for k := range b.weight[i] {
			b.weight[i][k] /= total
		}
	}
}

// log returns the logarithm of the likelihood, up to a constant.
func (b *belief) log(x float64) float64 { return x * (b.linear - b.precision*x/2) }

func (b *joint) expected() (mean, variance float64) {
	for i := range b.weight {
		for k, w := range b.weight[i] {
			mean += w * b.mean[k]
			variance += w * b.variance[i]
		}
	}
	return mean, variance
}

// drawn uses the uniform numbers u and v to draw a mean and a variance.
func (b *joint) drawn(u, v float64) (mean, variance float64) {
	var sums [jointSize]float64
	for i := range b.weight {
		for _, w := range b.weight[i] {
			sums[i] += w
		}
	}
	i := pick(sums[:], u)
	return b.mean[pick(b.weight[i][:], v*sums[i])], b.variance[i]
}

// pick returns the first index at which the cumulative sum of the weights exceeds u, or the last
// index if there is none.
func pick(weights []float64, u float64) int {
	for i, w := range weights {
		if u -= w; u < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// moments returns the share of each column with an indicator, and the mean and the mean square of
// each column with a value, in the unit of the column. If random is nil, these are posterior means.
// If not, they are draws from the posterior, for which random provides two standard normal numbers
// per column.
func (m *margins) moments(random []float64) (share, mean, square []float64) {
	n := len(m.columns)
	share, mean, square = make([]float64, n), make([]float64, n), make([]float64, n)
	uniform := func(i int) float64 {
		if random == nil {
			return 0
		}
		return min(max(special.Phi(random[i]), 1e-12), 1-1e-12)
	}
	for j, c := range m.columns {
		switch {
		case c.indicator == j && m.share[j].precision == 0:
			share[j] = 1 / float64(c.levels)
		case c.indicator == j:
			share[j] = m.onGrid(m.share[j], uniform(j))
		}
		if c.value == j {
			var variance float64
			if random == nil {
				mean[j], variance = m.numbers[j].expected()
			} else {
				mean[j], variance = m.numbers[j].drawn(uniform(j), uniform(n+j))
			}
			square[j] = mean[j]*mean[j] + max(variance, leastSquare)
		}
	}
	for _, f := range m.factors {
		var sum float64
		var others belief // belief about the sum of the shares of all levels in f
		for _, j := range f {
			sum += share[j]
			if b := m.share[j]; b.precision > 0 {
				others.linear += b.linear / b.precision
				others.precision += 1 / b.precision
			}
		}
		// With treatment coding, the baseline level has no indicator. Its share is 1 minus the sum of the
		// other shares.
		if m.columns[f[0]].levels > len(f) {
			if others.precision == 0 {
				continue // nothing has been released
			}
			var baseline belief
			baseline.learn(1-others.linear, others.precision)
			sum += m.onGrid(baseline, uniform(n+f[0]))
		}
		for _, j := range f {
			share[j] /= sum
		}
	}
	return share, mean, square
}

// narrowed returns m with the standard deviation of each number multiplied by factor.
func (m *margins) narrowed(factor float64) *margins {
	out := *m
	out.numbers = slices.Clone(m.numbers)
	for j := range out.numbers {
		for i := range out.numbers[j].variance {
			out.numbers[j].variance[i] *= factor * factor
		}
	}
	return &out
}

// madeUp returns made-up records whose columns are independent. A slope is not zero only for the
// group that a record belongs to.
func (m *margins) madeUp() population {
	share, mean, square := m.moments(nil)
	n := len(m.columns)
	x := make([]float64, madeUpRecords*n)
	for j, c := range m.columns {
		if c.kind == constant {
			for i := range madeUpRecords {
				x[i*n+j] = 1
			}
		}
		if c.value != j || c.kind == slope {
			continue
		}
		sd := math.Sqrt(square[j] - mean[j]*mean[j])
		for i, z := range m.normals(madeUpRecords, "values", j) {
			x[i*n+j] = min(max((mean[j]+sd*z)*m.unit[j], c.low), c.high)
		}
	}
	for _, f := range m.factors {
		for i, z := range m.normals(madeUpRecords, "levels", f[0]) {
			u := special.Phi(z)
			for _, j := range f {
				if u -= share[j]; u < 0 {
					x[i*n+j] = 1
					break
				}
			}
		}
	}
	m.makeSlopes(x, mean, square)
	return m.model.madeUp(m.Problem, x)
}

// makeSlopes turns values into slopes. It starts with the last column, because slopes refer to
// earlier columns.
func (m *margins) makeSlopes(x, mean, square []float64) {
	n := len(m.columns)
	own := map[int][]float64{} // values of each number that has slopes but is not part of the margins, by the index of its first slope
	for j := n - 1; j >= 0; j-- {
		c := m.columns[j]
		if c.kind != slope {
			continue
		}
		v := c.value
		if m.columns[v].kind == slope && own[v] == nil {
			sd := math.Sqrt(square[v] - mean[v]*mean[v])
			for _, z := range m.normals(madeUpRecords, "values", v) {
				own[v] = append(own[v], min(max((mean[v]+sd*z)*m.unit[v], c.low), c.high))
			}
		}
		for i := range madeUpRecords {
			value := x[i*n+v]
			if own[v] != nil {
				value = own[v][i]
			}
			x[i*n+j] = x[i*n+c.indicator] * value
		}
	}
}

// sd returns the standard deviation of a share or a mean square times the number of records. It is
// a median over columns.
func (m *margins) sd() float64 {
	var sds []float64
	for j, c := range m.columns {
		switch c.elements(j) {
		case 1:
			sds = append(sds, m.Records/math.Sqrt(max(m.share[j].precision, float64(c.levels*c.levels))))
		case 2:
			sds = append(sds, m.Records/math.Sqrt(m.square[j].precision))
		}
	}
	if len(sds) == 0 {
		return 1
	}
	slices.Sort(sds)
	return (sds[(len(sds)-1)/2] + sds[len(sds)/2]) / 2
}

// evidence returns how many records would determine the mean of column j as precisely as the
// released mean.
func (m *margins) evidence(j int) float64 {
	if m.columns[j].kind == level {
		share := m.onGrid(m.share[j], 0)
		return share * (1 - share) * m.share[j].precision
	}
	_, variance := m.numbers[j].expected()
	return variance * m.mean[j].precision
}
