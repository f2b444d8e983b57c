package sweep

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/plotter"
)

// A series is the part of a plot for one point of the axis [Plot.By], in one colour. For each x it
// contains the middle (median or mean) of a metric, and the range around the middle.
type series struct {
	label         string
	x             []float64
	low, mid, top []float64

	// aside returns x with a small shift, so that the marks of several series do not overlap.
	aside func(x float64) float64
}

// collect returns the series of a plot. If positions on the horizontal axis are numbers, names is
// nil. Otherwise a position is an index into names, which holds the labels.
func (r *Results) collect(p Plot) (all []series, names []string) {
	labels := []string{""}
	if p.By != "" {
		labels = r.spec.labels(p.By)
	}
	numbers, names := r.spec.places(p.X)
	for _, label := range labels {
		values := map[float64][]float64{}
		for cell := range r.spec.cells() {
			if !r.matches(cell, p, label) {
				continue
			}
			if p.X == round {
				r.tracePoints(cell, slices.Index(r.spec.TraceMetrics(), p.Y), values)
				continue
			}
			x := r.place(cell, p.X, numbers, names)
			values[x] = append(values[x], r.column(cell, p.Y)...)
		}
		s := series{label: label}
		if _, err := strconv.ParseFloat(label, 64); err == nil {
			s.label = p.By + " " + label
		}
		for _, x := range slices.Sorted(maps.Keys(values)) {
			low, mid, top := p.spread(values[x])
			if math.IsNaN(x) || math.IsNaN(mid) || p.LogY && !(low > 0) || p.LogX && !(x > 0) {
				continue
			}
			s.x = append(s.x, x)
			s.low, s.mid, s.top = append(s.low, low), append(s.mid, mid), append(s.top, top)
		}
		if len(s.x) > 0 {
			all = append(all, s)
		}
	}
	return all, names
}

// spread summarises the values of a metric for a plot: it returns their middle and the two ends of
// the range around it. By default the middle is the median, and the ends are the first and the last
// decile. If p.Deviation is true, the middle is the mean, and the ends are one standard deviation
// away. If the metric is a share, the middle is the mean, and the ends are the limits of the 95 %
// confidence interval of the mean.
func (p Plot) spread(values []float64) (low, mid, top float64) {
	const normal95 = 1.959963984540054
	var reach float64
	switch {
	case p.Deviation:
		reach = deviation(values)
	case isShare(p.Y):
		reach = normal95 * standardError(values)
	default:
		q := quantiles(values, .1, .5, .9)
		return q[0], q[1], q[2]
	}
	if math.IsNaN(reach) {
		reach = 0
	}
	mid = mean(values)
	return mid - reach, mid, mid + reach
}

// deviation returns the standard deviation of values. It returns NaN for fewer than two values.
func deviation(values []float64) float64 {
	if len(values) < 2 {
		return nan
	}
	return stat.StdDev(values, nil)
}

// place returns the horizontal position of a cell, which is a point of the grid. x is the axis of
// the grid or the metric that the plot shows there. For a metric, the position is the mean over the
// runs.
func (r *Results) place(cell int, x string, numbers map[string]float64, names []string) float64 {
	switch at := r.label(cell, x); {
	case names != nil:
		return float64(slices.Index(names, at))
	case len(numbers) > 0:
		return numbers[at]
	default:
		return mean(r.column(cell, x))
	}
}

func (r *Results) tracePoints(cell, metric int, into map[float64][]float64) {
	for k, values := range r.points {
		if k.cell == cell && k.metric == metric {
			into[float64(k.round)] = append(into[float64(k.round)], values...)
		}
	}
}

// label returns the label of the point of a cell on the given axis.
func (r *Results) label(cell int, axis string) string {
	for i, c := range r.spec.cases(cell) {
		if r.spec.Axes[i].Name == axis {
			return c.Label
		}
	}
	return ""
}

func (r *Results) matches(cell int, p Plot, by string) bool {
	return (p.By == "" || r.label(cell, p.By) == by) && r.shows(cell, p)
}

// shows reports whether a plot includes the runs of a cell.
func (r *Results) shows(cell int, p Plot) bool {
	for axis, label := range p.Where {
		if r.label(cell, axis) != label {
			return false
		}
	}
	return true
}

// pooled returns the metric of the pooled fit, averaged over all runs in a plot.
func (r *Results) pooled(p Plot) float64 {
	var values []float64
	for cell := range r.spec.cells() {
		if r.shows(cell, p) {
			reached, gap := r.column(cell, p.Y), r.column(cell, p.Y+"_gap")
			for i := range min(len(reached), len(gap)) {
				values = append(values, reached[i]+gap[i])
			}
		}
	}
	return mean(values)
}

// at returns points with the x of the series and the given values as y.
func (s series) at(values []float64) plotter.XYs {
	xy := make(plotter.XYs, len(s.x))
	for k, x := range s.x {
		xy[k] = plotter.XY{X: s.aside(x), Y: values[k]}
	}
	return xy
}

// aside returns a function that shifts the x of series i, so that the whiskers of several series at
// the same x do not overlap. All shifts together span a part of the distance between two points:
// half of the distance between two names, or an eighth of the smallest distance between two
// numbers. On a logarithmic axis, distances are between logarithms.
func aside(all []series, i int, nominal, log bool) func(x float64) float64 {
	place := (float64(i) - float64(len(all)-1)/2) / float64(len(all))
	if nominal {
		return func(x float64) float64 { return x + 0.5*place }
	}
	least := math.Inf(1)
	on := func(x float64) float64 {
		if log {
			return math.Log(x)
		}
		return x
	}
	for _, s := range all {
		for k := 1; k < len(s.x); k++ {
			least = min(least, on(s.x[k])-on(s.x[k-1]))
		}
	}
	switch {
	case len(all[i].x) >= bandFrom || math.IsInf(least, 0) || math.IsNaN(least):
		return func(x float64) float64 { return x }
	case log:
		return func(x float64) float64 { return x * math.Exp(place*least/8) }
	default:
		return func(x float64) float64 { return x + place*least/8 }
	}
}
