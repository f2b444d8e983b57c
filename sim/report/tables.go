package report

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedpvi/pvi/describe"
	"fedpvi/pvi/words"
	"fedpvi/sim"
)

// cellLimit is the maximum number of levels and bins in a figure that shows tables.
const cellLimit = 150

// groupShapes are the marks that distinguish several groups of records, or several clients.
var groupShapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.RingGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{}}

// Tables draws the share of records in each level and bin of the described columns, for the same
// groups as the text tables. The intervals cover the privacy noise. If there is no estimate of a
// share, only its interval is drawn.
func Tables(s *describe.Summary) (Figure, error) {
	heads, groups := words.TableHead(s)
	var names []string
	sets := make([]intervalSet, groups)
	for g := range sets {
		sets[g] = intervalSet{label: heads[g], colour: Palette[g], shape: groupShapes[g]}
	}
	for _, c := range s.Columns {
		for i, label := range c.Labels {
			names = append(names, c.Name+" "+label)
			for g := range sets {
				sets[g].of = append(sets[g].of, shareOf(c.Parts[g].Shares[i]))
			}
		}
	}
	n := min(len(names), cellLimit)
	title := firstOf(fmt.Sprintf("Shares of records, with %.0f %% intervals for the privacy noise", 100*s.Level), n, len(names), "levels and bins")
	const apart = 6 // distance in points between the intervals in a row, a little more than the size of a mark
	row := max(18, apart*float64(groups+1))
	legend := 14 * float64(groups) / row // height of the legend, in row heights
	p := intervalPanel(title, "% of the records of a group", names[:n], sets, apart/row, legend)
	p.X.Min, p.X.Max = 0, 1.03*p.X.Max
	p.Legend.YOffs = -vg.Points(2)
	return Figure{Panels: []*plot.Plot{p.Plot}, Width: vg.Points(600), Height: vg.Points(70 + row*(float64(n)+legend))}, p.err
}

// shareOf returns a share as a percentage. The mean is NaN if there is no estimate.
func shareOf(v describe.Value) sim.Marginal {
	m := sim.Marginal{Mean: 100 * v.Estimate, Lower: 100 * v.Low, Upper: 100 * v.High}
	if v.IntervalOnly {
		m.Mean = math.NaN()
	}
	return m
}
