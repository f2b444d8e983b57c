package sweep

import (
	"path/filepath"
	"slices"
	"strconv"

	"fedpvi/internal/document"
)

// A Plot describes a plot in a sweep file.
type Plot struct {
	File  string
	Title string
	X     string // axis of the grid, or metric, that the horizontal axis shows; "round" plots the trace
	Y     string // name of the metric that the vertical axis shows
	By    string // axis of the grid that has one series for each of its points; may be empty
	Where map[string]string
	LogX  bool
	LogY  bool
	Label [2]string // labels of the two axes

	// Deviation shows means and standard deviations instead of medians and deciles.
	Deviation bool

	// Pooled adds the result of the pooled fit, which has no privacy, to the plot.
	Pooled bool

	Lines     []Line
	Published []Published
}

// A Line is a horizontal line in a plot with which readers can compare the results.
type Line struct {
	Label string
	Y     float64
}

// Published is a series of points from a publication.
type Published struct {
	Label string
	X     []string // positions on the horizontal axis: numbers or labels of cases
	Y     []float64
}

// round is the horizontal axis of a plot of metrics over the rounds.
const round = "round"

func (s *Spec) readPlots(root *document.Table) []Plot {
	var plots []Plot
	for _, t := range root.Tables("plot") {
		p := s.readPlot(t)
		s.readComparisons(t, &p)
		plots = append(plots, p)
		if p.X == round && slices.Contains(testTraceMetrics, p.Y) {
			s.tracePredictions = true
		}
	}
	return plots
}

func (s *Spec) readPlot(t *document.Table) Plot {
	var p Plot
	t.Require("file", `name the picture, file = "kl-by-clip"`)
	p.File, _ = t.String("file")
	if t.Has("file") && p.File != filepath.Base(p.File) {
		t.Errorf("file", "must be a name without folders")
	}
	p.Title = textOr(t, "title", s.Title)
	metrics := slices.Concat(posteriorMetrics, testMetrics)
	t.Require("x", `name an axis, a metric, or "round"`)
	p.X, _ = t.Choice("x", slices.Concat(s.axisNames(), []string{round}, metrics)...)
	t.Require("y", "name a column of the results")
	if p.X == round {
		metrics = slices.Concat(traceMetrics, testTraceMetrics)
	}
	p.Y, _ = t.Choice("y", metrics...)
	p.By, _ = t.Choice("by", s.axisNames()...)
	p.Where = s.readWhere(t.Table("where"))
	p.LogX, _ = t.Bool("log_x")
	p.LogY, _ = t.Bool("log_y")
	p.Label = [2]string{textOr(t, "x_label", p.X), textOr(t, "y_label", p.Y)}
	if p.X == round && s.Trace == 0 {
		t.Errorf("x", "a plot over rounds needs sweep.trace, the rounds between its points")
	}
	spread, _ := t.Choice("spread", "deciles", "sd")
	p.Deviation = spread == "sd"
	if p.Pooled, _ = t.Bool("pooled"); p.Pooled && !slices.Contains(testMetrics[:3], p.Y) {
		t.Errorf("pooled", "a line for the fit of the pooled records needs y = \"accuracy\", \"log_likelihood\" or \"auc\"")
	}
	return p
}

func (s *Spec) axisNames() []string {
	var names []string
	for _, a := range s.Axes {
		names = append(names, a.Name)
	}
	return names
}

func (s *Spec) readWhere(t *document.Table) map[string]string {
	where := map[string]string{}
	for _, axis := range t.Keys() {
		where[axis], _ = t.String(axis)
		s.checkCase(t, axis, where[axis])
	}
	return where
}

// checkCase reports an error in t unless the axis has a case with the label.
func (s *Spec) checkCase(t *document.Table, axis, label string) {
	i := slices.IndexFunc(s.Axes, func(a Axis) bool { return a.Name == axis })
	if i < 0 {
		t.Errorf(axis, "there is no such axis")
	} else if !slices.ContainsFunc(s.Axes[i].Cases, func(c Case) bool { return c.Label == label }) {
		t.Errorf(axis, "the axis has no case %q", label)
	}
}

func (s *Spec) readComparisons(t *document.Table, p *Plot) {
	for _, l := range t.Tables("line") {
		l.Require("label", "describe the line")
		l.Require("y", "write the position of the line")
		var line Line
		line.Label, _ = l.String("label")
		line.Y, _ = l.Float("y")
		if l.Has("y") && p.LogY && line.Y <= 0 {
			l.Errorf("y", "must be positive on a logarithmic axis")
		}
		p.Lines = append(p.Lines, line)
	}
	for _, l := range t.Tables("published") {
		p.Published = append(p.Published, s.readPublished(l, p))
	}
}

func (s *Spec) readPublished(t *document.Table, p *Plot) Published {
	t.Require("label", "write the source of the points")
	t.Require("x", "write the positions of the points, x = [1, 2]")
	t.Require("y", "write the values of the points, y = [0.8, 0.9]")
	var out Published
	out.Label, _ = t.String("label")
	xs, _ := t.List("x")
	out.Y, _ = t.Floats("y")
	if len(xs) != len(out.Y) && t.Has("x") && t.Has("y") {
		t.Errorf("y", "has %d values for %d points", len(out.Y), len(xs))
	}
	_, names := s.places(p.X)
	for _, v := range xs {
		text, err := encode(v)
		if unquoted, quoted := strconv.Unquote(text); quoted == nil {
			text = unquoted
		}
		_, number := strconv.ParseFloat(text, 64)
		if err != nil || names == nil && number != nil || names != nil && !slices.Contains(names, text) {
			t.Errorf("x", "must be numbers, or cases of the axis of the plot")
			break
		}
		out.X = append(out.X, text)
	}
	return out
}

// places returns the positions of the points on an axis. If all labels are numbers, the map gives
// each label its number. Otherwise names has the labels in order. If axis is not an axis of the
// grid, the map is empty.
func (s *Spec) places(axis string) (numbers map[string]float64, names []string) {
	labels := s.labels(axis)
	numbers = map[string]float64{}
	for _, label := range labels {
		x, err := strconv.ParseFloat(label, 64)
		if err != nil {
			return nil, labels
		}
		numbers[label] = x
	}
	return numbers, nil
}

func (s *Spec) labels(axis string) []string {
	var labels []string
	for _, a := range s.Axes {
		if a.Name == axis {
			for _, c := range a.Cases {
				labels = append(labels, c.Label)
			}
		}
	}
	return labels
}

// needsTest returns the first part of a sweep that needs held-out records, or "" if no part does.
func (s *Spec) needsTest() string {
	for _, p := range s.Plots {
		for _, metric := range []string{p.X, p.Y} {
			if slices.Contains(testMetrics, metric) {
				return "the plot of " + metric
			}
		}
	}
	if s.tracePredictions {
		return "trace_predictions"
	}
	return ""
}
