package sweep

import (
	"fmt"
	"image/color"
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

const figureWidth vg.Length = 480

// A figure is a plot under construction.
type figure struct {
	*plot.Plot
	of      Plot
	nominal bool
	keys    int // number of lines in the legend
}

// bandFrom is the number of points from which the spread of a series is drawn as a band.
const bandFrom = 20

func (r *Results) plot(p Plot) error {
	all, names := r.collect(p)
	f := &figure{of: p, nominal: names != nil}
	f.Plot = report.NewPanel(p.Title+r.legend(p, all, f.nominal), p.Label[0], p.Label[1])
	for i := range all {
		all[i].aside = aside(all, i, f.nominal, p.LogX)
		if err := f.addSpread(all[i], report.Palette[i%len(report.Palette)]); err != nil {
			return err
		}
	}
	for i, s := range all {
		if err := f.addMiddle(s, i); err != nil {
			return err
		}
	}
	for i, published := range p.Published {
		if err := f.addPublished(published, i, names); err != nil {
			return err
		}
	}
	if f.nominal {
		report.NominalX(f.Plot, names, figureWidth)
		f.X.Min, f.X.Max = -0.5, float64(len(names))-0.5
	}
	if err := f.addLines(r.lines(p)); err != nil {
		return err
	}
	return f.write(filepath.Join(r.Folder, p.File))
}

func (f *figure) write(path string) error {
	if f.of.LogY {
		report.LogY(f.Plot)
	}
	if !f.nominal && f.of.LogX {
		report.LogX(f.Plot)
	}
	f.Legend.ThumbnailWidth = vg.Points(24)
	// plain is the height in points of a figure whose legend has at most roomy lines. Each further
	// line adds key points.
	const plain, roomy, key = 320, 4, 13
	height := vg.Points(float64(plain + key*max(0, f.keys-roomy)))
	report.ReserveLegend(f.Plot, f.keys, height)
	return report.WriteFigure(path, report.Figure{Panels: []*plot.Plot{f.Plot}, Width: figureWidth, Height: height})
}

func (r *Results) legend(p Plot, all []series, nominal bool) string {
	points, bars := "Points", "bars"
	for _, s := range all {
		if !nominal && len(s.x) >= bandFrom {
			points, bars = "Lines", "bands"
		}
	}
	switch {
	case r.spec.Seeds == 1:
		return ""
	case p.Deviation:
		return fmt.Sprintf("\n%s are means, %s reach a standard deviation each way, over %d seeds", points, bars, r.spec.Seeds)
	case isShare(p.Y):
		return fmt.Sprintf("\n%s are means, %s their 95 %% confidence intervals, over %d seeds", points, bars, r.spec.Seeds)
	default:
		return fmt.Sprintf("\n%s are medians, %s go from the first to the ninth decile of %d seeds", points, bars, r.spec.Seeds)
	}
}

func (f *figure) key(label string, thumbnail plot.Thumbnailer) {
	f.Legend.Add(label, thumbnail)
	f.keys++
}

// addSpread draws the range around the middle of a series, unless the series has none. It draws a
// band for a series with many points on a numeric axis, and whiskers for any other series.
func (f *figure) addSpread(s series, colour color.Color) error {
	if slices.Equal(s.low, s.top) {
		return nil
	}
	if !f.nominal && len(s.x) >= bandFrom {
		outline := s.at(s.top)
		low := s.at(s.low)
		slices.Reverse(low)
		band, err := plotter.NewPolygon(append(outline, low...))
		if err != nil {
			return err
		}
		band.Color, band.LineStyle.Width = report.Fade(colour, 0.15), 0
		report.Add(f.Plot, band)
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
	report.Add(f.Plot, bars)
	return nil
}

// addMiddle draws the median or mean of series i. On a numeric axis, a line joins the points. If
// there are many points, only the line is drawn.
func (f *figure) addMiddle(s series, i int) error {
	line, dots, err := plotter.NewLinePoints(s.at(s.mid))
	if err != nil {
		return err
	}
	colour := report.Palette[i%len(report.Palette)]
	line.Color, line.Width, line.Dashes = colour, vg.Points(1.5), report.Dashes[i%len(report.Dashes)]
	dots.Color, dots.Radius, dots.Shape = colour, vg.Points(2.5), draw.CircleGlyph{}
	var thumbnail plot.Thumbnailer = line
	switch {
	case f.nominal:
		report.Add(f.Plot, dots)
		thumbnail = dots
	case len(s.x) >= bandFrom:
		report.Add(f.Plot, line)
	default:
		report.Add(f.Plot, line, dots)
	}
	if s.label != "" {
		f.key(s.label, thumbnail)
	}
	return nil
}

// glyphs are the shapes that distinguish published points, which all have the same colour.
var glyphs = []draw.GlyphDrawer{draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{}, draw.RingGlyph{}}

// published is the colour of points from publications.
var published = color.Gray{0x44}

// addPublished draws published points. If the horizontal axis is ordered, a thin line joins them.
func (f *figure) addPublished(p Published, i int, names []string) error {
	xy := make(plotter.XYs, len(p.X))
	for k, label := range p.X {
		x, _ := strconv.ParseFloat(label, 64) // this cannot fail, because the label was parsed when the sweep file was read
		if names != nil {
			x = float64(slices.Index(names, label))
		}
		xy[k] = plotter.XY{X: x, Y: p.Y[k]}
	}
	line, dots, err := plotter.NewLinePoints(xy)
	if err != nil {
		return err
	}
	line.Color, line.Width, line.Dashes = published, vg.Points(0.7), report.Dashes[2]
	dots.Color, dots.Radius, dots.Shape = published, vg.Points(3), glyphs[i%len(glyphs)]
	if !f.nominal && len(xy) > 1 {
		report.Add(f.Plot, line)
	}
	report.Add(f.Plot, dots)
	f.key(p.Label, dots)
	return nil
}

func (r *Results) lines(p Plot) []Line {
	lines := slices.Clone(p.Lines)
	if p.Pooled {
		if y := r.pooled(p); !math.IsNaN(y) {
			lines = append([]Line{{"pooled, without privacy", y}}, lines...)
		}
	}
	return lines
}

func (f *figure) addLines(lines []Line) error {
	low, high := f.X.Min, f.X.Max
	if math.IsInf(low, 0) || math.IsInf(high, 0) {
		return nil // without points, there is no range for the lines to span
	}
	for i, l := range lines {
		line, err := plotter.NewLine(plotter.XYs{{X: low, Y: l.Y}, {X: high, Y: l.Y}})
		if err != nil {
			return err
		}
		line.Color, line.Width, line.Dashes = color.Gray{0x77}, vg.Points(1.2), report.Dashes[(i+1)%len(report.Dashes)]
		report.Add(f.Plot, line)
		f.key(l.Label, line)
	}
	return nil
}
