package scoring

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
)

// Margins are beliefs about the distribution of each regressor by itself. The belief about a
// number is normal for its mean; the beliefs about the share f of a level and about the mean
// square s of a number are densities 1/f and 1/s on a grid of logarithms, times the normal
// likelihood of what was released. A number is in its own unit.
type margins struct {
	*Problem
	unit         []float64 // unit of a number; at first the largest absolute value within the bounds
	share        []belief  // belief about the share of a level
	mean, square []belief  // beliefs about the mean and the mean square of a number, in its unit
	factors      [][]int   // columns of the levels of each factor
}

// A belief is a normal likelihood exp(−½ precision·x² + linear·x).
type belief struct{ precision, linear float64 }

func (b *belief) learn(x, variance float64) {
	b.precision += 1 / variance
	b.linear += x / variance
}

// These are the beliefs about a number before a release, in units of its largest absolute value.
// The mean is 0 ± 0.4. The mean square is 1/3 ± 0.3, where 1/3 is that of a uniform
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
		switch c.kind {
		case level:
			levels[c.factor] = append(levels[c.factor], j)
		case number:
			if m.unit[j] = max(math.Abs(c.low), math.Abs(c.high)); m.unit[j] == 0 {
				m.unit[j] = 1
			}
			m.mean[j].learn(0, meanSD*meanSD)
			m.square[j].learn(squareMean, squareSD*squareSD)
		}
	}
	for j, c := range p.columns {
		if c.kind == level && levels[c.factor][0] == j {
			m.factors = append(m.factors, levels[c.factor])
		}
	}
	return m
}

// size returns the number of elements that a record adds to the margins.
func (m *margins) size() (n int) {
	for _, c := range m.columns {
		switch c.kind {
		case level:
			n++
		case number:
			n += 2
		}
	}
	return n
}

// record writes the elements that a record with regressors x adds: for each level its indicator,
// for each number its value and its square.
func (m *margins) record(dst, x []float64) {
	n := 0
	for j, c := range m.columns {
		switch c.kind {
		case level:
			dst[n] = x[j]
			n++
		case number:
			v := x[j] / m.unit[j]
			dst[n], dst[n+1] = v, v*v
			n += 2
		}
	}
}

// learned returns the margins after a release of sums over all records. Each sum has noise with
// the given sd. If a number is surely small compared to its unit, learned makes the unit
// smaller.
func (m *margins) learned(sums []float64, sd float64) *margins {
	out := *m
	out.unit, out.share = slices.Clone(m.unit), slices.Clone(m.share)
	out.mean, out.square = slices.Clone(m.mean), slices.Clone(m.square)
	variance := sd * sd / (m.Records * m.Records)
	n := 0
	for j, c := range m.columns {
		switch c.kind {
		case level:
			out.share[j].learn(sums[n]/m.Records, variance)
			n++
		case number:
			out.mean[j].learn(sums[n]/m.Records, variance)
			out.square[j].learn(sums[n+1]/m.Records, variance)
			n += 2
			out.rescale(j)
		}
	}
	return &out
}

// rescale sets the unit of number j to twice the upper limit of its root mean square, if that is
// smaller than the present unit.
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

// gridSize is the number of points of the grid of shares and mean squares.
const gridSize = 120

// onGrid returns the mean of a belief times the density 1/x. If u > 0, it returns quantile u
// instead.
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
	left := u * total
	for i, p := range logs {
		if left -= p; left < 0 {
			return points[i]
		}
	}
	return points[gridSize-1]
}

// moments returns the mean and the mean square of every regressor, in their units; of levels
// the mean is the share. If random is not nil they are a draw from the beliefs, made from two
// standard normal numbers for each regressor.
func (m *margins) moments(random []float64) (mean, square []float64) {
	n := len(m.columns)
	mean, square = make([]float64, n), make([]float64, n)
	quantile := func(i int) float64 {
		if random == nil {
			return 0
		}
		return min(max(special.Phi(random[i]), 1e-12), 1-1e-12)
	}
	for j, c := range m.columns {
		mean[j], square[j] = 1, 1
		switch {
		case c.kind == level && m.share[j].precision == 0:
			mean[j] = 1 / float64(c.levels)
		case c.kind == level:
			mean[j] = m.onGrid(m.share[j], quantile(j))
		case c.kind == number:
			square[j] = m.onGrid(m.square[j], quantile(j))
			mean[j] = m.mean[j].linear / m.mean[j].precision
			if random != nil {
				mean[j] += random[n+j] / math.Sqrt(m.mean[j].precision)
			}
			square[j] = max(square[j], 1.02*mean[j]*mean[j]+leastSquare)
		}
	}
	for _, f := range m.factors {
		var sum float64
		for _, j := range f {
			sum += mean[j]
		}
		// With treatment coding, the baseline has the remaining share, which is at least one
		// record.
		if m.columns[f[0]].levels > len(f) {
			sum = max(sum, 1e-12)
			most := 1 - 1/m.Records
			if sum <= most {
				continue
			}
			sum /= most
		}
		for _, j := range f {
			mean[j] /= sum
		}
	}
	return mean, square
}

// madeUp returns made-up records with these margins and independent columns.
func (m *margins) madeUp() *madeUp {
	mean, square := m.moments(nil)
	n := len(m.columns)
	x := make([]float64, madeUpRecords*n)
	for j, c := range m.columns {
		if c.kind == constant {
			for i := range madeUpRecords {
				x[i*n+j] = 1
			}
		}
		if c.kind != number {
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
				if u -= mean[j]; u < 0 {
					x[i*n+j] = 1
					break
				}
			}
		}
	}
	return m.newMadeUp(x)
}

// weights are the mean Fisher informations of made-up records in their predictors, at one point.
type weights struct {
	all    []float64   // mean over all records, a matrix by rows
	levels [][]float64 // mean for the first predictor, by factor and level, with the baseline last; nil if levels do not matter
}

// someRecords is the number of made-up records over which the weight of a level is averaged.
const someRecords = 500

// weights returns the mean informations at θ of made-up records. A record's information depends
// on its level more than on anything else, if there is one predictor of the location. With several
// predictors all levels count alike.
func (m *madeUp) weights(theta []float64, factors [][]int) *weights {
	w, k := m.workspace(), m.predictors()
	out := &weights{all: make([]float64, k*k)}
	for i := range madeUpRecords {
		w.predict(m.row(i), theta)
		m.response.Information(w.eta, w.w)
		for a, v := range w.w {
			out.all[a] += v / madeUpRecords
		}
	}
	if m.locations > 1 || m.linear {
		return out
	}
	for _, f := range factors {
		levels := make([]float64, len(f)+1)
		for i := range someRecords {
			x := m.row(i)
			w.predict(x, theta)
			rest := w.eta[0]
			for _, j := range f {
				rest -= theta[j] * x[j]
			}
			for n := range levels {
				if w.eta[0] = rest; n < len(f) {
					w.eta[0] += theta[f[n]]
				}
				m.response.Information(w.eta, w.w)
				levels[n] += w.w[0] / someRecords
			}
		}
		out.levels = append(out.levels, levels)
	}
	return out
}

// curvature returns the information at θ that all records would have if they had these margins,
// independent columns and the given weights. A draw of the margins is as in moments.
func (m *margins) curvature(weights *weights, random []float64) *mat.SymDense {
	mean, square := m.moments(random)
	k, n := m.predictors(), len(m.columns)
	sum := mat.NewSymDense(m.Dim(), nil)
	tilted := m.tilted(weights, mean)
	for a := range m.locations {
		for b := range a + 1 {
			v := weights.all[a*k+b]
			for i, c := range m.columns {
				for j, e := range m.columns {
					cross := v * tilted[i] * tilted[j]
					switch {
					case i == j && c.kind == number:
						cross = v * square[i]
					case i == j:
						cross = v * tilted[i]
					case c.kind == level && e.kind == level && c.factor == e.factor:
						cross = 0
					}
					if a > b || i >= j {
						sum.SetSym(a*n+i, b*n+j, m.Records*m.unit[i]*m.unit[j]*cross)
					}
				}
			}
		}
	}
	if m.scale {
		last := m.Dim() - 1
		sum.SetSym(last, last, m.Records*weights.all[k*k-1])
	}
	return sum
}

// tilted returns the mean regressors of a record that is drawn in proportion to its weight.
func (m *margins) tilted(weights *weights, mean []float64) []float64 {
	out := slices.Clone(mean)
	for i, levels := range weights.levels {
		f := m.factors[i]
		baseline := 1.0
		var total float64
		for n, j := range f {
			total += mean[j] * levels[n]
			baseline -= mean[j]
		}
		if m.columns[f[0]].levels > len(f) {
			total += max(baseline, 0) * levels[len(f)]
		}
		if !(total > 0) {
			continue
		}
		for n, j := range f {
			out[j] = mean[j] * levels[n] / total
		}
	}
	return out
}

// sd returns the median sd of a margin, in records.
func (m *margins) sd() float64 {
	var sds []float64
	for j, c := range m.columns {
		switch c.kind {
		case level:
			sds = append(sds, m.Records/math.Sqrt(max(m.share[j].precision, float64(c.levels*c.levels))))
		case number:
			sds = append(sds, m.Records/math.Sqrt(m.square[j].precision))
		}
	}
	if len(sds) == 0 {
		return 1
	}
	slices.Sort(sds)
	return (sds[(len(sds)-1)/2] + sds[len(sds)/2]) / 2
}
