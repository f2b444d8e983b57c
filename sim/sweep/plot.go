package sweep

import (
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
// of a metric at each x.
type series struct {
	label         string
	x             []float64
	low, mid, top []float64
}

// plot draws p to p.File.svg and p.File.png.
func (r *Results) plot(p Plot) error {
	panel := report.NewPanel(p.Title, p.Label[0], p.Label[1])
	all, names := r.collect(p)
	for i, s := range all {
		if err := addSpread(panel, s, i, len(all), names != nil); err != nil {
			return err
		}
	}
	for i, s := range all {
		if err := addMiddle(panel, s, i, len(all), names != nil); err != nil {
			return err
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
	figure := report.Figure{Panels: []*plot.Plot{panel}, Width: vg.Points(480), Height: vg.Points(320)}
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
			q := quantiles(values[x], .1, .5, .9)
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

// at returns the points of values over a series' x, which are put side by side
// with those of the other series where x has no order.
func (s series) at(values []float64, i, of int, nominal bool) plotter.XYs {
	shift := 0.0
	if nominal {
		shift = 0.5 * (float64(i) - float64(of-1)/2) / float64(of)
	}
	xy := make(plotter.XYs, len(s.x))
	for k, x := range s.x {
		xy[k] = plotter.XY{X: x + shift, Y: values[k]}
	}
	return xy
}

// bandFrom is the number of points from which deciles are drawn as a band.
const bandFrom = 20

// addSpread draws the deciles of a series: whiskers, or a band where points are
// many.
func addSpread(panel *plot.Plot, s series, i, of int, nominal bool) error {
	colour := report.Palette[i%len(report.Palette)]
	if !nominal && len(s.x) >= bandFrom {
		outline := s.at(s.top, i, of, nominal)
		low := s.at(s.low, i, of, nominal)
		slices.Reverse(low)
		band, err := plotter.NewPolygon(append(outline, low...))
		if err != nil {
			return err
		}
		band.Color, band.LineStyle.Width = report.Fade(colour, 0.15), 0
		panel.Add(band)
		return nil
	}
	whiskers := struct {
		plotter.XYs
		plotter.YErrors
	}{s.at(s.mid, i, of, nominal), make(plotter.YErrors, len(s.x))}
	for k := range s.x {
		whiskers.YErrors[k].Low, whiskers.YErrors[k].High = s.mid[k]-s.low[k], s.top[k]-s.mid[k]
	}
	bars, err := plotter.NewYErrorBars(whiskers)
	if err != nil {
		return err
	}
	bars.Color, bars.Width, bars.CapWidth = report.Fade(colour, 0.6), vg.Points(1), vg.Points(4)
	panel.Add(bars)
	return nil
}

// addMiddle draws the medians of a series, joined where x has an order.
func addMiddle(panel *plot.Plot, s series, i, of int, nominal bool) error {
	xy := s.at(s.mid, i, of, nominal)
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
		panel.Add(dots)
		thumbnail = dots
	case len(s.x) >= bandFrom:
		panel.Add(line)
	default:
		panel.Add(line, dots)
	}
	if s.label != "" {
		panel.Legend.Add(s.label, thumbnail)
	}
	return nil
}
