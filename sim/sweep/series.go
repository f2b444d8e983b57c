package sweep

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/plotter"

	"fedpvi/sim/report"
)

// A series is one point of the axis [Plot.By] in a plot. For each x, it has the middle of a metric
// and the range around it.
type series struct {
	label         string
	x             []float64
	low, mid, top []float64

	// aside shifts the x of the series so that whiskers do not overlap (see the function aside).
	aside func(x float64) float64
}

// collect returns the series of a plot. If horizontal positions are numbers, names is nil.
// Otherwise a position is an index into names.
func (r *Results) collect(p Plot) (all []series, names []string) {
	labels := []string{""}
	if p.By != "" {
		labels = r.spec.labels(p.By)
	}
	numbers, names := r.spec.places(p.X)
	for _, label := range labels {
		values := map[float64][]float64{}
		for cell := range r.spec.cells() {
			if p.By != "" && r.label(cell, p.By) != label || !r.shows(cell, p) {
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

// spread returns the middle of a metric's values and the ends of the range around it: the median
// and two deciles or, with p.Deviation, the mean and one standard deviation each way. For a share,
// it returns the mean and its 95 % confidence interval.
func (p Plot) spread(values []float64) (low, mid, top float64) {
	const normal95 = 1.959963984540054
	var reach float64
	switch {
	case p.Deviation:
		reach = deviation(values)
	case isShare(p.Y):
		reach = normal95 * standardError(values)
	default:
		return report.Quantile(values, .1), report.Quantile(values, .5), report.Quantile(values, .9)
	}
	if math.IsNaN(reach) {
		reach = 0
	}
	mid = mean(values)
	return mid - reach, mid, mid + reach
}

// deviation returns NaN if there are fewer than two values.
func deviation(values []float64) float64 {
	if len(values) < 2 {
		return nan
	}
	return stat.StdDev(values, nil)
}

// place returns the horizontal position of a grid cell. x is an axis of the grid, or a metric. The
// position for a metric is its mean over the runs.
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

func (r *Results) label(cell int, axis string) string {
	for i, c := range r.spec.cases(cell) {
		if r.spec.Axes[i].Name == axis {
			return c.Label
		}
	}
	return ""
}

func (r *Results) shows(cell int, p Plot) bool {
	for axis, label := range p.Where {
		if r.label(cell, axis) != label {
			return false
		}
	}
	return true
}

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

func (s series) at(values []float64) plotter.XYs {
	xy := make(plotter.XYs, len(s.x))
	for k, x := range s.x {
		xy[k] = plotter.XY{X: s.aside(x), Y: values[k]}
	}
	return xy
}

// aside returns a function that shifts the x of series i, so that several series at the same x have
// separate whiskers. All shifts together span half the distance between two names, or an eighth of
// the smallest distance between two numbers. On a logarithmic axis, this distance is between
// logarithms.
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
