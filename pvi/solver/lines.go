package solver

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"fedpvi/internal/special"
)

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
