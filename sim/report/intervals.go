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

// intervalSets returns the intervals of the reported posterior and of the pooled posterior. A point
// estimate has an interval of length 0.
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

// intervalNames returns a label for each coefficient: its name, its unit, and the mean and interval
// of the reported posterior in natural units. If the study reports only point estimates, the label
// has the estimate in natural units instead.
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

// Intervals draws the 95 % intervals of the posterior that reports show, and those of the pooled
// records without privacy. The intervals are on the model's scale, which all coefficients share.
// Below the name of each coefficient, the figure shows the interval in natural units.
func Intervals(r *sim.Result) (Figure, error) {
	n := min(len(r.NonPrivate), intervalLimit)
	title := "Posterior, mean and 95 % interval"
	if r.Estimates != nil {
		title = "Estimates"
	}
	if n < len(r.NonPrivate) {
		title = fmt.Sprintf("%s (first %d of %d coefficients)", title, n, len(r.NonPrivate))
	}
	for _, note := range r.Notes {
		title += "\n" + note
	}
	p := NewPanel(title, "model's scale; federated numbers at the left in natural units", "")
	names := intervalNames(r)[:n]
	slices.Reverse(names)
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -0.5, float64(n)-0.5
	sets := intervalSets(r)
	for k, set := range sets {
		shift := 0.24 * (float64(len(sets)-1)/2 - float64(k))
		if err := set.add(p, n, shift); err != nil {
			return Figure{}, err
		}
	}
	zero, err := plotter.NewLine(plotter.XYs{{X: 0, Y: -0.5}, {X: 0, Y: float64(n) - 0.5}})
	if err != nil {
		return Figure{}, err
	}
	zero.Color, zero.Dashes = grey, []vg.Length{vg.Points(3), vg.Points(3)}
	p.Add(zero)
	margin := 0.03 * (p.X.Max - p.X.Min)
	p.X.Min, p.X.Max = p.X.Min-margin, p.X.Max+margin
	legend := 0.6 * float64(len(sets)) // height of the legend, in row heights
	p.Y.Max += legend
	p.Legend.YOffs = -vg.Points(2)
	return Figure{Panels: []*plot.Plot{p}, Width: vg.Points(600), Height: vg.Points(110 + 30*(float64(n)+legend))}, nil
}

// add draws the first n intervals, moved up or down by shift, so that the intervals of two
// posteriors for the same coefficient do not overlap. It does not draw a mean that is not a number.
func (s intervalSet) add(p *plot.Plot, n int, shift float64) error {
	var points plotter.XYs
	for i, m := range s.of[:n] {
		y := float64(n-1-i) + shift
		if !math.IsNaN(m.Mean) {
			points = append(points, plotter.XY{X: m.Mean, Y: y})
		}
		line, err := plotter.NewLine(plotter.XYs{{X: m.Lower, Y: y}, {X: m.Upper, Y: y}})
		if err != nil {
			return err
		}
		line.Color, line.Width = s.colour, vg.Points(1.5)
		Add(p, line)
	}
	if points == nil {
		return nil
	}
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	dots.Color, dots.Shape, dots.Radius = s.colour, s.shape, vg.Points(2.5)
	Add(p, dots)
	p.Legend.Add(s.label, dots)
	return nil
}
