package hierarchy

import "math"

// A site is a normal factor exp(linear·x − ½ precision·x²).
type site struct{ precision, linear float64 }

// A Single is the density of one coordinate of a [Joint], as a table of its logarithm on a grid
// that is finest around the mode.
type Single struct {
	centre, scale float64
	precision     float64               // inverse of the variance
	logs          [singlePoints]float64 // log density on the grid, 0 at the mode
}

// The grid has the points centre + scale·sinh(t) for t between −singleRange and singleRange.
const (
	singlePoints = 401
	singleRange  = 8.0
	singleStep   = 2 * singleRange / (singlePoints - 1)
)

// NewSingle returns the density with the given logarithm, up to a constant. The density must have
// one mode.
func NewSingle(log func(x float64) float64) *Single {
	s := &Single{}
	s.centre = mode(log)
	top := log(s.centre)
	reach := func(sign float64) float64 {
		step := 1e-12 * (1 + math.Abs(s.centre))
		for step < 1e12 && log(s.centre+sign*step) > top-0.5 {
			step *= 1.3
		}
		return step
	}
	s.scale = max(reach(1), reach(-1))
	for i := range s.logs {
		if s.logs[i] = log(s.at(i)) - top; math.IsNaN(s.logs[i]) {
			s.logs[i] = math.Inf(-1)
		}
	}
	_, variance := s.moments(site{})
	s.precision = 1 / variance
	return s
}

// mode searches several grids, each between the neighbours of the previous best point.
func mode(log func(x float64) float64) float64 {
	const points, turns = 61, 12
	low, high, best := -25.0, 25.0, 0.0
	for range turns {
		step, most := (high-low)/(points-1), math.Inf(-1)
		best = (low + high) / 2
		for i := range points {
			t := low + step*float64(i)
			if v := log(math.Sinh(t)); v > most {
				most, best = v, t
			}
		}
		low, high = best-step, best+step
	}
	return math.Sinh(best)
}

func (s *Single) at(i int) float64 {
	return s.centre + s.scale*math.Sinh(singleStep*float64(i)-singleRange)
}

// log interpolates the log density. Beyond the grid it is constant.
func (s *Single) log(x float64) float64 {
	t := (math.Asinh((x-s.centre)/s.scale) + singleRange) / singleStep
	i := int(min(max(t, 0), singlePoints-2))
	share := min(max(t-float64(i), 0), 1)
	if a, b := s.logs[i], s.logs[i+1]; share > 0 && share < 1 && !math.IsInf(a, -1) && !math.IsInf(b, -1) {
		return a + share*(b-a)
	}
	return s.logs[i+int(math.Round(share))]
}

// moments returns mean and variance of the density times the normal factor f.
func (s *Single) moments(f site) (mean, variance float64) {
	x, w := s.weighted(f)
	var total float64
	for i, v := range w {
		total += v
		mean += v * x[i]
	}
	mean /= total
	for i, v := range w {
		variance += v / total * (x[i] - mean) * (x[i] - mean)
	}
	if !(variance > 0) || math.IsNaN(mean) {
		return s.centre, s.scale * s.scale
	}
	return mean, variance
}

// weighted returns points and weights for the density times the normal factor f: the points of the
// grid or, if f is narrow, points around its mean. With d, the distance from that mean to the
// centre, f is narrow if its sd is less than half of √(scale² + d²), which is 12.5 times the
// spacing of the grid there.
func (s *Single) weighted(f site) (x, w []float64) {
	const narrow, sds = 0.5, 8.0
	n := singlePoints
	point := s.at
	width := func(i int) float64 { return s.scale * math.Cosh(singleStep*float64(i)-singleRange) }
	if f.precision > 0 {
		mean, sd := f.linear/f.precision, 1/math.Sqrt(f.precision)
		if sd < narrow*math.Hypot(s.scale, mean-s.centre) {
			n = 161
			point = func(i int) float64 { return mean + sd*sds*(2*float64(i)/float64(n-1)-1) }
			width = func(int) float64 { return 1 }
		}
	}
	x, w = make([]float64, n), make([]float64, n)
	largest := math.Inf(-1)
	for i := range x {
		x[i] = point(i)
		w[i] = s.log(x[i]) + x[i]*(f.linear-f.precision*x[i]/2)
		largest = max(largest, w[i])
	}
	for i := range w {
		w[i] = math.Exp(w[i]-largest) * width(i)
	}
	return x, w
}

// Moments returns the mean and the sd.
func (s *Single) Moments() (mean, sd float64) {
	mean, variance := s.moments(site{})
	return mean, math.Sqrt(variance)
}

// quantile returns the point below which the density has probability u.
func (s *Single) quantile(u float64) float64 {
	x, w := s.weighted(site{})
	var total float64
	for _, v := range w {
		total += v
	}
	for i, v := range w {
		if u -= v / total; u < 0 {
			return x[i]
		}
	}
	return x[len(x)-1]
}
