package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedpvi/sim"
)

// intervalLimit is the maximum number of coefficients in a figure of intervals.
const intervalLimit = 60

// An intervalSet holds the intervals of one posterior in a figure.
type intervalSet struct {
	label  string
	of     []sim.Marginal
	colour color.Color
	shape  draw.GlyphDrawer
}

// intervalSets returns the reported and the pooled posterior. A point estimate has an interval
// of length 0.
func intervalSets(r *sim.Result) []intervalSet {
	federated := intervalSet{"federated", nil, Palette[0], draw.CircleGlyph{}}
	if r.Estimates == nil {
		federated.of = r.Shown()
	} else {
		federated.label = "federated, point estimates"
	}
	for _, e := range r.Estimates {
		federated.of = append(federated.of, sim.Marginal{Mean: e.Value, Lower: e.Value, Upper: e.Value})
	}
	return []intervalSet{federated, {"pooled, without privacy", r.NonPrivate, Palette[1], draw.SquareGlyph{}}}
}

// intervalNames returns a label for each coefficient, with the posterior or the estimate in
// natural units.
func intervalNames(r *sim.Result) (names []string) {
	for _, e := range r.Estimates {
		names = append(names, fmt.Sprintf("%s, %s\n%.3g", e.Name, e.Unit, e.Natural))
	}
	if names != nil {
		return names
	}
	for _, m := range r.Shown() {
		names = append(names, fmt.Sprintf("%s, %s\n%.3g [%.3g, %.3g]", m.Name, m.Unit, m.Natural.Mean, m.Low, m.High))
	}
	return names
}

// Intervals draws the 95 % intervals of the reported posterior and of the pooled records, on the
// model's scale. Below the name of each coefficient is its interval in natural units.
func Intervals(r *sim.Result) (Figure, error) {
	n := min(len(r.NonPrivate), intervalLimit)
	title := "Posterior, mean and 95 % interval"
	if r.Estimates != nil {
		title = "Estimates"
	}
	title = firstOf(title, n, len(r.NonPrivate), "coefficients")
	for _, note := range r.Notes {
		title += "\n" + note
	}
	sets := intervalSets(r)
	legend := 0.6 * float64(len(sets)) // height of the legend, in row heights
	p := intervalPanel(title, "model's scale; federated numbers at the left in natural units", intervalNames(r)[:n], sets, 0.24, legend)
	p.zero(n)
	p.widen()
	p.Legend.YOffs = -vg.Points(2)
	return Figure{Panels: []*plot.Plot{p.Plot}, Width: vg.Points(600), Height: vg.Points(110 + 30*(float64(n)+legend))}, p.err
}

// firstOf adds to a title that the figure shows only the first n of several things.
func firstOf(title string, n, of int, things string) string {
	if n == of {
		return title
	}
	return fmt.Sprintf("%s (first %d of %d %s)", title, n, of, things)
}

// intervalPanel draws a row of intervals for each name, with one interval of each set. In a row, the
// intervals are apart, so that they do not overlap. apart and legend, the height of the legend, are
// in row heights.
func intervalPanel(title, x string, names []string, sets []intervalSet, apart, legend float64) *sketch {
	p := newSketch(title, x, "")
	n := len(names)
	slices.Reverse(names)
	p.NominalY(names...)
	for k, set := range sets {
		if set.of != nil {
			set.add(p, n, apart*(float64(len(sets)-1)/2-float64(k)))
		}
	}
	p.Y.Min, p.Y.Max = -0.5, float64(n)-0.5+legend
	return p
}

// zero draws a vertical line at 0 through n rows.
func (s *sketch) zero(n int) {
	s.Add(s.curve(plotter.XYs{{X: 0, Y: -0.5}, {X: 0, Y: float64(n) - 0.5}}, grey, 1, []vg.Length{vg.Points(3), vg.Points(3)}))
}

// widen leaves space at both ends of the horizontal axis.
func (s *sketch) widen() {
	margin := 0.03 * (s.X.Max - s.X.Min)
	s.X.Min, s.X.Max = s.X.Min-margin, s.X.Max+margin
}

// add draws the first n intervals, moved up or down by shift. It does not draw a mean that is not a
// number.
func (s intervalSet) add(p *sketch, n int, shift float64) {
	var points plotter.XYs
	for i, m := range s.of[:n] {
		y := float64(n-1-i) + shift
		if !math.IsNaN(m.Mean) {
			points = append(points, plotter.XY{X: m.Mean, Y: y})
		}
		p.line(plotter.XYs{{X: m.Lower, Y: y}, {X: m.Upper, Y: y}}, s.colour, 1.5, nil)
	}
	if points != nil {
		p.Legend.Add(s.label, p.dots(points, s.colour, 2.5, s.shape))
	}
}
