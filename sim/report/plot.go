package report

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"fedpvi/pvi/gaussian"
	"fedpvi/sim"
)

// Palette contains colours that most colour-blind readers can tell apart (Okabe and Ito 2008).
var Palette = []color.Color{
	color.RGBA{0x00, 0x72, 0xB2, 0xFF}, // blue
	color.RGBA{0xD5, 0x5E, 0x00, 0xFF}, // vermilion
	color.RGBA{0x00, 0x9E, 0x73, 0xFF}, // green
	color.RGBA{0xCC, 0x79, 0xA7, 0xFF}, // purple
	color.RGBA{0xE6, 0x9F, 0x00, 0xFF}, // orange
	color.RGBA{0x56, 0xB4, 0xE9, 0xFF}, // sky
	color.RGBA{0x00, 0x00, 0x00, 0xFF}, // black
}

var grey = color.Gray{0x99}

// Fade returns c with an opacity between 0 and 1.
func Fade(c color.Color, opacity float64) color.Color {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(255 * opacity)}
}

// Dashes are dash patterns that keep lines distinguishable in black-and-white print.
var Dashes = [][]vg.Length{
	nil,
	{vg.Points(6), vg.Points(3)},
	{vg.Points(2), vg.Points(2)},
	{vg.Points(8), vg.Points(3), vg.Points(2), vg.Points(3)},
	{vg.Points(1), vg.Points(3)},
	{vg.Points(10), vg.Points(5)},
	{vg.Points(4), vg.Points(2), vg.Points(1), vg.Points(2), vg.Points(1), vg.Points(2)},
}

// A Figure is a picture with one or more panels, arranged in columns. Only panels in the first
// column have labels on their vertical axis. A long title takes several lines.
type Figure struct {
	Panels        []*plot.Plot
	Width, Height vg.Length
	Columns       int // number of columns; 1 if 0

	notes string // lines of text below the panels; see [Figure.note]
}

// NewPanel returns an empty plot in the common style.
func NewPanel(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font.Size = font.Length(11)
	p.Title.Padding = vg.Points(6)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font.Size = font.Length(10)
		axis.Label.Padding = vg.Points(3)
		axis.Tick.Label.Font.Size = font.Length(9)
		axis.Padding = vg.Points(4)
		axis.Tick.Marker = tidyTicks{}
	}
	p.Legend.Top = true
	p.Legend.TextStyle.Font.Size = font.Length(9)
	p.Legend.Padding = vg.Points(2)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xE4}, color.Gray{0xE4}
	p.Add(grid)
	return p
}

// bare is a plotter without padding around its glyphs. gonum's default padding is far too large on
// a logarithmic axis.
type bare struct {
	plot.Plotter
	plot.DataRanger
}

// Add adds plotters to a panel without padding around their glyphs.
func Add(p *plot.Plot, plotters ...plot.Plotter) {
	for _, plotter := range plotters {
		p.Add(bare{plotter, plotter.(plot.DataRanger)})
	}
}

// ReserveLegend extends the vertical axis of a panel with the given height, so that a legend fits
// above all data. Call it after setting the scale of the axis and adding all plotters.
func ReserveLegend(p *plot.Plot, lines int, height vg.Length) {
	if lines == 0 || math.IsInf(p.Y.Min, 0) || math.IsInf(p.Y.Max, 0) {
		return
	}
	const around = 80 // total height of title, ticks and labels, in points
	room := height.Points() - around
	share := min(0.6, (12.5*float64(lines)+4)/max(room, 1))
	if _, ok := p.Y.Scale.(plot.LogScale); ok {
		p.Y.Max *= math.Pow(p.Y.Max/p.Y.Min, share/(1-share))
		return
	}
	p.Y.Max += (p.Y.Max - p.Y.Min) * share / (1 - share)
}

// A sketch is a panel under construction. err collects errors from making its lines and points.
type sketch struct {
	*plot.Plot
	err error
}

func newSketch(title, x, y string) *sketch { return &sketch{Plot: NewPanel(title, x, y)} }

// curve returns a line. width is in points.
func (s *sketch) curve(xy plotter.XYs, c color.Color, width float64, dashes []vg.Length) *plotter.Line {
	line, err := plotter.NewLine(xy)
	if err != nil {
		s.err = errors.Join(s.err, err)
		return new(plotter.Line)
	}
	line.Color, line.Width, line.Dashes = c, vg.Points(width), dashes
	return line
}

// line adds a [sketch.curve] with [Add]. It returns the line for the legend.
func (s *sketch) line(xy plotter.XYs, c color.Color, width float64, dashes []vg.Length) *plotter.Line {
	line := s.curve(xy, c, width, dashes)
	Add(s.Plot, line)
	return line
}

// dots adds points and returns them for the legend. radius is in points.
func (s *sketch) dots(xy plotter.XYs, c color.Color, radius float64, shape draw.GlyphDrawer) *plotter.Scatter {
	dots, err := plotter.NewScatter(xy)
	if err != nil {
		s.err = errors.Join(s.err, err)
		return new(plotter.Scatter)
	}
	dots.Color, dots.Radius, dots.Shape = c, vg.Points(radius), shape
	Add(s.Plot, dots)
	return dots
}

// Encode returns the figure in the format "svg" or "png".
func (f Figure) Encode(format string) ([]byte, error) {
	var buf bytes.Buffer
	switch format {
	case "svg":
		canvas := vgsvg.New(f.Width, f.Height)
		f.drawOn(canvas)
		_, err := canvas.WriteTo(&buf)
		return buf.Bytes(), err
	case "png":
		return f.png()
	}
	return nil, fmt.Errorf("figure: unknown format %q", format)
}

// These constants are the margins of a figure. The right margin leaves space for a label at the end
// of an axis.
const (
	margin      vg.Length = 6
	rightMargin vg.Length = 10
)

// drawOn draws the figure so that it fills canvas. The background is white up to the edges, because
// the page around the figure may be dark.
func (f Figure) drawOn(canvas vg.CanvasSizer) {
	area := draw.New(canvas)
	area.SetColor(color.White)
	area.Fill(area.Rectangle.Path())
	area = draw.Crop(area, margin, -rightMargin, margin, -margin)
	if f.notes != "" {
		style := noteStyle()
		area.FillText(style, area.Min, f.notes)
		area = draw.Crop(area, 0, 0, style.Height(f.notes)+noteGap, 0)
	}
	f.draw(area)
}

// draw draws the panels. It labels their vertical axes itself, because gonum reserves too much
// space for the labels of a logarithmic axis.
func (f Figure) draw(area draw.Canvas) {
	const apart vg.Length = 14 // distance between columns
	columns := max(1, f.Columns)
	labels := make([]string, len(f.Panels))
	var plots [][]*plot.Plot
	var left vg.Length
	for i, p := range f.Panels {
		labels[i], p.Y.Label.Text = p.Y.Label.Text, ""
		if style := p.Y.Label.TextStyle; labels[i] != "" {
			left = max(left, style.Height(labels[i])+style.FontExtents().Descent+p.Y.Label.Padding)
		}
		if i%columns == 0 {
			plots = append(plots, make([]*plot.Plot, columns))
		}
		plots[i/columns][i%columns] = p
	}
	width := (area.Max.X-area.Min.X-left+apart)/vg.Length(columns) - apart
	for _, p := range f.Panels {
		p.Title.Text = fold(p.Title.Text, p.Title.TextStyle, width)
	}
	tiles := draw.Tiles{Rows: len(plots), Cols: columns, PadX: apart, PadY: vg.Points(10)}
	for i, row := range plot.Align(plots, tiles, draw.Crop(area, left, 0, 0, 0)) {
		for k, canvas := range row {
			p := plots[i][k]
			if p == nil {
				continue
			}
			p.Draw(canvas)
			label := labels[i*columns+k]
			data := p.DataCanvas(canvas)
			style := p.Y.Label.TextStyle
			style.Rotation = math.Pi / 2
			style.XAlign, style.YAlign = text.XCenter, text.YTop
			area.FillText(style, vg.Point{X: area.Min.X, Y: (data.Min.Y + data.Max.Y) / 2}, label)
			p.Y.Label.Text = label
		}
	}
}

// rowHeight is the height of each panel in the figure of [Rounds], in points.
const rowHeight vg.Length = 200

// A Target is the posterior with which the plot of a run compares q.
type Target struct {
	Names    []string
	Mean, SD []float64
}

// Rounds plots a run by outcome: the mean of q in sds of the target, the spent ε and, if divergence
// is true, the divergence of q from the target.
func Rounds(h *sim.History, family gaussian.Family, target Target, divergence bool) (Figure, error) {
	means, err := meansPanel(h, family, target)
	if err != nil {
		return Figure{}, err
	}
	panels := []*sketch{means}
	if divergence {
		panels = append(panels, divergencePanel(h))
	}
	if n := len(h.Points); n > 0 && h.Points[n-1].Epsilon != nil {
		panels = append(panels, epsilonPanel(h))
	}
	return stacked(panels, "outcomes")
}

// stacked returns a figure whose panels share one horizontal axis.
func stacked(panels []*sketch, x string) (f Figure, err error) {
	for _, p := range panels {
		f.Panels, err = append(f.Panels, p.Plot), errors.Join(err, p.err)
	}
	panels[len(panels)-1].X.Label.Text = x
	f.Width, f.Height = vg.Points(480), rowHeight*vg.Length(len(panels))
	return f, err
}

// epsilonPanel plots the ε that a client has spent. Before the first outcome it is empty.
func epsilonPanel(h *sim.History) *sketch {
	p := seriesPanel(h, "ε spent by a client", "ε", Palette[1], func(p sim.Point) float64 {
		if p.Epsilon == nil {
			return 0
		}
		return *p.Epsilon
	})
	p.Y.Min = 0
	return p
}

// divergencePanel omits a divergence of zero, which a logarithmic axis cannot show.
func divergencePanel(h *sim.History) *sketch {
	apart := new(sim.History)
	for _, p := range h.Points {
		if p.KL > 0 {
			apart.Points = append(apart.Points, p)
		}
	}
	p := seriesPanel(apart, "KL to the pooled posterior", "nats", Palette[0], func(p sim.Point) float64 { return p.KL })
	LogY(p.Plot)
	return p
}

// fewMeans is the maximum number of coefficients for which each line has its own colour and name.
const fewMeans = 6

// meansPanel plots, for every element of q's mean, its distance from the target's mean in sds of
// the target. The scale is arsinh, because the first distances may be hundreds of sds.
func meansPanel(h *sim.History, family gaussian.Family, target Target) (*sketch, error) {
	lines := make([]plotter.XYs, len(target.Mean))
	mean := make([]float64, len(target.Mean))
	for _, point := range h.Points {
		if err := family.Mean(mean, point.Natural); err != nil {
			return nil, err
		}
		for j, x := range mean {
			lines[j] = append(lines[j], plotter.XY{X: float64(point.Outcome), Y: (x - target.Mean[j]) / target.SD[j]})
		}
	}
	return distances("mean of q, from the pooled posterior's mean", "pooled sds", target.Names, lines), nil
}

// distances plots one line per coefficient on an arsinh axis. The label of the axis contains unit.
func distances(title, unit string, names []string, lines []plotter.XYs) *sketch {
	if len(lines) > fewMeans {
		title += ", one line for each coefficient"
	}
	p := newSketch(title, "", unit+" (arsinh scale)")
	p.Y.Tick.Marker = arsinhTicks{}
	for j, xy := range lines {
		for i := range xy {
			xy[i].Y = math.Asinh(xy[i].Y)
		}
		line := p.curve(xy, Fade(Palette[0], 0.5), 1, nil)
		if len(lines) <= fewMeans {
			line.Color, line.Dashes, line.Width = Palette[j], Dashes[j], vg.Points(1.5)
			p.Legend.Add(names[j], line)
		}
		p.Add(line)
	}
	if len(lines) <= fewMeans {
		ReserveLegend(p.Plot, len(lines), rowHeight)
	}
	return p
}

func seriesPanel(h *sim.History, title, y string, c color.Color, of func(sim.Point) float64) *sketch {
	p := newSketch(title, "", y)
	var xy plotter.XYs
	for _, point := range h.Points {
		xy = append(xy, plotter.XY{X: float64(point.Outcome), Y: of(point)})
	}
	p.Add(p.curve(xy, c, 1.5, nil))
	return p
}
