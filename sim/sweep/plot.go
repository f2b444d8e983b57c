package sweep

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedpvi/sim/report"
)

// A series is what one case of a plot's By axis looks like: median and deciles
// of a metric at each x, or mean and confidence interval of a share.
type series struct {
	label         string
	x             []float64
	low, mid, top []float64

	aside func(x float64) float64 // where x is drawn, beside the other series
}

// plot draws p to p.File.svg and p.File.png.
func (r *Results) plot(p Plot) error {
	all, names := r.collect(p)
	panel := report.NewPanel(p.Title+"\n"+r.legend(p.Y, all, names != nil), p.Label[0], p.Label[1])
	for i, s := range all {
		s.aside = aside(all, i, names != nil, p.LogX)
		if err := addSpread(panel, s, i, names != nil); err != nil {
			return err
		}
		all[i] = s
	}
	keys := 0
	for i, s := range all {
		if err := addMiddle(panel, s, i, names != nil); err != nil {
			return err
		}
		if s.label != "" {
			keys++
		}
	}
	if p.LogY {
		report.LogY(panel)
	}
	if names != nil {
		panel.NominalX(names...)
		panel.X.Min, panel.X.Max = -0.5, float64(len(names))-0.5
	} else if p.LogX {
		report.LogX(panel)
	}
	panel.Legend.ThumbnailWidth = vg.Points(24)
	const height = 320
	report.ReserveLegend(panel, keys, height)
	figure := report.Figure{Panels: []*plot.Plot{panel}, Width: vg.Points(480), Height: height}
	return report.WriteFigure(filepath.Join(r.Folder, p.File), figure)
}

// collect gathers the series of a plot. names is nil if x is a number.
func (r *Results) collect(p Plot) (all []series, names []string) {
	labels := []string{""}
	if p.By != "" {
		labels = r.labels(p.By)
	}
	trace := p.X == "round"
	numbers := map[string]float64{}
	if !trace {
		for _, label := range r.labels(p.X) {
			x, err := strconv.ParseFloat(label, 64)
			if err != nil {
				names = r.labels(p.X)
				break
			}
			numbers[label] = x
		}
	}
	for _, label := range labels {
		values := map[float64][]float64{}
		for cell := range r.spec.cells() {
			if !r.matches(cell, p, label) {
				continue
			}
			if trace {
				r.tracePoints(cell, slices.Index(traceMetrics, p.Y), values)
				continue
			}
			at := r.label(cell, p.X)
			x := numbers[at]
			if names != nil {
				x = float64(slices.Index(names, at))
			}
			values[x] = append(values[x], r.column(cell, p.Y)...)
		}
		s := series{label: label}
		if _, err := strconv.ParseFloat(label, 64); err == nil {
			s.label = p.By + " " + label
		}
		for _, x := range slices.Sorted(maps.Keys(values)) {
			q := spread(p.Y, values[x])
			if p.LogY && !(q[0] > 0) || math.IsNaN(q[1]) {
				continue
			}
			s.x = append(s.x, x)
			s.low, s.mid, s.top = append(s.low, q[0]), append(s.mid, q[1]), append(s.top, q[2])
		}
		if len(s.x) > 0 {
			all = append(all, s)
		}
	}
	return all, names
}

func (r *Results) tracePoints(cell, metric int, into map[float64][]float64) {
	for k, values := range r.points {
		if k.cell == cell && k.metric == metric {
			into[float64(k.round)] = append(into[float64(k.round)], values...)
		}
	}
}

func (r *Results) labels(axis string) []string {
	var labels []string
	for _, a := range r.spec.Axes {
		if a.Name == axis {
			for _, c := range a.Cases {
				labels = append(labels, c.Label)
			}
		}
	}
	return labels
}

// label returns the case of an axis at a cell.
func (r *Results) label(cell int, axis string) string {
	for i, c := range r.spec.cases(cell) {
		if r.spec.Axes[i].Name == axis {
			return c.Label
		}
	}
	return ""
}

func (r *Results) matches(cell int, p Plot, by string) bool {
	if p.By != "" && r.label(cell, p.By) != by {
		return false
	}
	for axis, label := range p.Where {
		if r.label(cell, axis) != label {
			return false
		}
	}
	return true
}

// at returns the points of values over a series' x.
func (s series) at(values []float64) plotter.XYs {
	xy := make(plotter.XYs, len(s.x))
	for k, x := range s.x {
		xy[k] = plotter.XY{X: s.aside(x), Y: values[k]}
	}
	return xy
}

// aside returns where series i of all is drawn, so that whiskers at the same x
// stand side by side: over half of the distance of two names, and over an eighth of
// the least distance of two numbers, on a logarithmic axis of their logarithms.
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

// bandFrom is the number of points from which deciles are drawn as a band.
const bandFrom = 20

// legend says what the marks of a plot are.
func (r *Results) legend(metric string, all []series, nominal bool) string {
	points, bars := "Points", "bars"
	for _, s := range all {
		if !nominal && len(s.x) >= bandFrom {
			points, bars = "Lines", "bands"
		}
	}
	if isShare(metric) {
		return fmt.Sprintf("%s are means, %s their 95 %% confidence intervals, over %d seeds", points, bars, r.spec.Seeds)
	}
	return fmt.Sprintf("%s are medians, %s go from the first to the ninth decile of %d seeds", points, bars, r.spec.Seeds)
}

// addSpread draws the deciles of a series: whiskers, or a band where points are
// many.
func addSpread(panel *plot.Plot, s series, i int, nominal bool) error {
	colour := report.Palette[i%len(report.Palette)]
	if !nominal && len(s.x) >= bandFrom {
		outline := s.at(s.top)
		low := s.at(s.low)
		slices.Reverse(low)
		band, err := plotter.NewPolygon(append(outline, low...))
		if err != nil {
			return err
		}
		band.Color, band.LineStyle.Width = report.Fade(colour, 0.15), 0
		report.Add(panel, band)
		return nil
	}
	whiskers := struct {
		plotter.XYs
		plotter.YErrors
	}{s.at(s.mid), make(plotter.YErrors, len(s.x))}
	for k := range s.x {
		whiskers.YErrors[k].Low, whiskers.YErrors[k].High = s.mid[k]-s.low[k], s.top[k]-s.mid[k]
	}
	bars, err := plotter.NewYErrorBars(whiskers)
	if err != nil {
		return err
	}
	bars.Color, bars.Width, bars.CapWidth = report.Fade(colour, 0.6), vg.Points(1), vg.Points(4)
	report.Add(panel, bars)
	return nil
}

// addMiddle draws the medians of a series, joined where x has an order.
func addMiddle(panel *plot.Plot, s series, i int, nominal bool) error {
	xy := s.at(s.mid)
	line, dots, err := plotter.NewLinePoints(xy)
	if err != nil {
		return err
	}
	colour := report.Palette[i%len(report.Palette)]
	line.Color, line.Width, line.Dashes = colour, vg.Points(1.5), report.Dashes[i%len(report.Dashes)]
	dots.Color, dots.Radius, dots.Shape = colour, vg.Points(2.5), draw.CircleGlyph{}
	var thumbnail plot.Thumbnailer = line
	switch {
	case nominal:
		report.Add(panel, dots)
		thumbnail = dots
	case len(s.x) >= bandFrom:
		report.Add(panel, line)
	default:
		report.Add(panel, line, dots)
	}
	if s.label != "" {
		panel.Legend.Add(s.label, thumbnail)
	}
	return nil
}
