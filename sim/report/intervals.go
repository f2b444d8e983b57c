package report

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedpvi/sim"
)

// labelWidth is the maximum width of row labels.
const labelWidth vg.Length = 230

// intervalLimit is the maximum number of coefficients in a figure of intervals.
const intervalLimit = 60

// An intervalSet holds one posterior's intervals for a figure.
type intervalSet struct {
	label  string
	of     []sim.Marginal
	colour color.Color
	shape  draw.GlyphDrawer
}

// intervalSets returns the intervals of the reported and of the pooled posterior. A point estimate
// has an interval of length 0.
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

// intervalNames returns a label for each coefficient, which includes the posterior or the estimate
// in natural units.
func intervalNames(r *sim.Result) (names []string) {
	for _, e := range r.Estimates {
		names = append(names, fmt.Sprintf("%s\n%.3g", named(e.Name, e.Unit), e.Natural))
	}
	if names != nil {
		return names
	}
	for _, m := range r.Shown() {
		mean, low, high := alike(m.Natural.Mean, m.Low, m.High)
		names = append(names, fmt.Sprintf("%s\n%s [%s, %s]", named(m.Name, m.Unit), mean, low, high))
	}
	return names
}

// named returns the name of a coefficient and its unit, on two lines if they do not fit on one.
func named(name, unit string) string {
	if unit == "" {
		return name
	}
	if line := name + ", " + unit; noteStyle().Width(line) <= labelWidth {
		return line
	}
	return name + "\n" + unit
}

// alike formats a value and its interval, all rounded to the same decimal place. The interval is 30
// to 300 units of that place wide.
func alike(value, low, high float64) (v, l, h string) {
	last := math.Floor(math.Log10((high-low)/3)) - 1
	size := math.Floor(math.Log10(max(math.Abs(value), math.Abs(low), math.Abs(high))))
	var text func(float64) string
	switch {
	case math.IsInf(last, 0) || math.IsNaN(last): // the interval has length 0, or an end is infinite
		text = func(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }
	case last < -6 || size >= 6:
		decimals := int(min(max(size-last, 1), 9))
		text = func(x float64) string { return strconv.FormatFloat(x, 'e', decimals, 64) }
	default:
		decimals := int(max(0, -last))
		unit := math.Pow10(decimals)
		text = func(x float64) string {
			return strconv.FormatFloat(math.Round(x*unit)/unit+0, 'f', decimals, 64) // adding 0 turns -0 into 0
		}
	}
	return text(value), text(low), text(high)
}

// Intervals draws the 95 % intervals of the reported posterior and of the pooled records on the
// model's scale. The labels also give them in natural units.
func Intervals(r *sim.Result) (Figure, error) {
	n := min(len(r.NonPrivate), intervalLimit)
	title := "Posterior, mean and 95 % interval"
	if r.Estimates != nil {
		title = "Estimates"
	}
	title = firstOf(title, n, len(r.NonPrivate), "coefficients")
	sets := intervalSets(r)
	legend := 0.6 * float64(len(sets)) // height of the legend, in row heights
	names := intervalNames(r)[:n]
	p := intervalPanel(title, "model's scale; federated numbers at the left in natural units", names, sets, 0.24, legend)
	p.zero(n)
	p.widen()
	p.Legend.YOffs = -vg.Points(2)
	f := Figure{Panels: []*plot.Plot{p.Plot}, Width: vg.Points(600), Height: vg.Points(90 + rowOf(names)*(float64(n)+legend))}
	f.note(r.Notes)
	return f, p.err
}

// rowOf returns the height of a row in points, large enough for the longest label.
func rowOf(labels []string) float64 {
	lines := 2
	for _, label := range labels {
		lines = max(lines, 1+strings.Count(label, "\n"))
	}
	return 10 + 10*float64(lines)
}

// firstOf adds to a title that the figure shows only n of several things, the first ones.
func firstOf(title string, n, of int, things string) string {
	if n == of {
		return title
	}
	return fmt.Sprintf("%s (first %d of %d %s)", title, n, of, things)
}

// intervalPanel draws one row for each name, with one interval from each set. Intervals in a row
// are shifted so that they do not overlap. apart and legend, the height of the legend, are in row
// heights. Long lines of names are shortened.
func intervalPanel(title, x string, names []string, sets []intervalSet, apart, legend float64) *sketch {
	p := newSketch(title, x, "")
	n := len(names)
	labels := make([]string, n)
	for i, name := range names {
		lines := strings.Split(name, "\n")
		for k, line := range lines {
			lines[k] = shorten(line, p.Y.Tick.Label, labelWidth)
		}
		labels[n-1-i] = strings.Join(lines, "\n")
	}
	p.NominalY(labels...)
	for k, set := range sets {
		if set.of != nil {
			set.add(p, n, apart*(float64(len(sets)-1)/2-float64(k)))
		}
	}
	p.Y.Min, p.Y.Max = -0.5, float64(n)-0.5+legend
	return p
}

// zero draws a vertical line at 0 across n rows.
func (s *sketch) zero(n int) {
	s.Add(s.curve(plotter.XYs{{X: 0, Y: -0.5}, {X: 0, Y: float64(n) - 0.5}}, grey, 1, []vg.Length{vg.Points(3), vg.Points(3)}))
}

// widen leaves some space at both ends of the horizontal axis.
func (s *sketch) widen() {
	margin := 0.03 * (s.X.Max - s.X.Min)
	s.X.Min, s.X.Max = s.X.Min-margin, s.X.Max+margin
}

// add draws the first n intervals, shifted up or down by shift. It leaves out means that are NaN.
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
