package report

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"fedpvi/sim"
)

// Palette is colours that remain apart for most colour-blind readers (Okabe and
// Ito 2008).
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

// Fade returns c with a given opacity between 0 and 1.
func Fade(c color.Color, opacity float64) color.Color {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(255 * opacity)}
}

// Dashes tell lines apart in print without colour.
var Dashes = [][]vg.Length{
	nil,
	{vg.Points(6), vg.Points(3)},
	{vg.Points(2), vg.Points(2)},
	{vg.Points(8), vg.Points(3), vg.Points(2), vg.Points(3)},
	{vg.Points(1), vg.Points(3)},
	{vg.Points(10), vg.Points(5)},
	{vg.Points(4), vg.Points(2), vg.Points(1), vg.Points(2), vg.Points(1), vg.Points(2)},
}

// A Figure is a picture of one or more panels, one above the other.
type Figure struct {
	Panels        []*plot.Plot
	Width, Height vg.Length // of the whole
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
	}
	p.Legend.Top = true
	p.Legend.TextStyle.Font.Size = font.Length(9)
	p.Legend.Padding = vg.Points(2)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xE4}, color.Gray{0xE4}
	p.Add(grid)
	return p
}

// Encode returns the figure as "svg" or "png".
func (f Figure) Encode(format string) ([]byte, error) {
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch format {
	case "svg":
		canvas = vgsvg.New(f.Width, f.Height)
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(f.Width, f.Height), vgimg.UseDPI(160), vgimg.UseBackgroundColor(color.White))}
	default:
		return nil, fmt.Errorf("figure: unknown format %q", format)
	}
	area := draw.New(canvas)
	area = draw.Crop(area, vg.Points(6), -vg.Points(10), vg.Points(6), -vg.Points(6))
	plots := make([][]*plot.Plot, len(f.Panels))
	for i, p := range f.Panels {
		plots[i] = []*plot.Plot{p}
	}
	tiles := draw.Tiles{Rows: len(plots), Cols: 1, PadY: vg.Points(10)}
	for i, row := range plot.Align(plots, tiles, area) {
		f.Panels[i].Draw(row[0])
	}
	var buf bytes.Buffer
	_, err := canvas.WriteTo(&buf)
	return buf.Bytes(), err
}

// intervalLimit is the largest number of coefficients that one figure shows.
const intervalLimit = 60

// Intervals draws the 95 % intervals of the posterior against those of the
// pooled records without privacy.
func Intervals(r *sim.Result) (Figure, error) {
	n := min(len(r.Posterior), intervalLimit)
	title := "Posterior, mean and 95 % interval"
	if n < len(r.Posterior) {
		title = fmt.Sprintf("%s (first %d of %d coefficients)", title, n, len(r.Posterior))
	}
	p := NewPanel(title, "coefficient", "")
	names := make([]string, n)
	for i, m := range r.Posterior[:n] {
		names[n-1-i] = m.Name
	}
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -0.5, float64(n)-0.5
	for _, set := range []struct {
		label string
		of    []sim.Marginal
		shift float64
		style color.Color
		shape draw.GlyphDrawer
	}{
		{"federated", r.Posterior, 0.12, Palette[0], draw.CircleGlyph{}},
		{"pooled, without privacy", r.NonPrivate, -0.12, Palette[1], draw.SquareGlyph{}},
	} {
		var points plotter.XYs
		for i, m := range set.of[:n] {
			y := float64(n-1-i) + set.shift
			points = append(points, plotter.XY{X: m.Mean, Y: y})
			line, err := plotter.NewLine(plotter.XYs{{X: m.Lower, Y: y}, {X: m.Upper, Y: y}})
			if err != nil {
				return Figure{}, err
			}
			line.Color, line.Width = set.style, vg.Points(1.5)
			p.Add(line)
		}
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return Figure{}, err
		}
		dots.Color, dots.Shape, dots.Radius = set.style, set.shape, vg.Points(2.5)
		p.Add(dots)
		p.Legend.Add(set.label, dots)
	}
	zero, err := plotter.NewLine(plotter.XYs{{X: 0, Y: p.Y.Min}, {X: 0, Y: p.Y.Max}})
	if err != nil {
		return Figure{}, err
	}
	zero.Color, zero.Dashes = grey, []vg.Length{vg.Points(3), vg.Points(3)}
	p.Add(zero)
	margin := 0.03 * (p.X.Max - p.X.Min)
	p.X.Min, p.X.Max = p.X.Min-margin, p.X.Max+margin
	return Figure{[]*plot.Plot{p}, vg.Points(480), vg.Points(90 + 26*float64(n))}, nil
}

// Rounds draws natural parameters, divergence from the reference and spent ε
// over the outcomes of a run.
func Rounds(h *sim.History, reference []float64) (Figure, error) {
	natural, err := naturalPanel(h, reference)
	if err != nil {
		return Figure{}, err
	}
	kl, err := seriesPanel(h, "KL to the pooled posterior", "nats", Palette[0], func(p sim.Point) float64 { return p.KL })
	if err != nil {
		return Figure{}, err
	}
	LogY(kl)
	epsilon, err := seriesPanel(h, "ε spent by a client", "ε", Palette[1], func(p sim.Point) float64 { return p.Epsilon })
	if err != nil {
		return Figure{}, err
	}
	epsilon.Y.Min = 0
	epsilon.X.Label.Text = "outcomes"
	return Figure{[]*plot.Plot{natural, kl, epsilon}, vg.Points(480), vg.Points(600)}, nil
}

// naturalPanel shows every natural parameter on an arsinh scale, since they
// differ by orders of magnitude and sign, with the reference as dashes where
// there are few.
func naturalPanel(h *sim.History, reference []float64) (*plot.Plot, error) {
	p := NewPanel("natural parameters of q", "", "arsinh scale")
	p.Y.Tick.Marker = arsinhTicks{}
	n := 0
	if len(h.Points) > 0 {
		n = len(h.Points[0].Natural)
	}
	for j := range n {
		var xy plotter.XYs
		for _, point := range h.Points {
			xy = append(xy, plotter.XY{X: float64(point.Outcome), Y: math.Asinh(point.Natural[j])})
		}
		line, err := plotter.NewLine(xy)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = Palette[j%len(Palette)], vg.Points(1)
		p.Add(line)
		if n > 6 || len(reference) != n {
			continue
		}
		last := xy[len(xy)-1].X
		y := math.Asinh(reference[j])
		dashes, err := plotter.NewLine(plotter.XYs{{X: 0, Y: y}, {X: last, Y: y}})
		if err != nil {
			return nil, err
		}
		dashes.Color, dashes.Dashes = line.Color, []vg.Length{vg.Points(4), vg.Points(3)}
		p.Add(dashes)
	}
	return p, nil
}

func seriesPanel(h *sim.History, title, y string, c color.Color, of func(sim.Point) float64) (*plot.Plot, error) {
	p := NewPanel(title, "", y)
	var xy plotter.XYs
	for _, point := range h.Points {
		xy = append(xy, plotter.XY{X: float64(point.Outcome), Y: of(point)})
	}
	line, err := plotter.NewLine(xy)
	if err != nil {
		return nil, err
	}
	line.Color, line.Width = c, vg.Points(1.5)
	p.Add(line)
	return p, nil
}
