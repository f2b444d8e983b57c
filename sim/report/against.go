package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedpvi/pvi/fit"
	"fedpvi/sim"
)

// AgainstPrior draws the 95 % intervals of the prior, of the posterior, and of the posteriors under
// other priors. Values on the axis are distances from the prior's mean, in sds of the prior.
func AgainstPrior(all []fit.AgainstPrior) (Figure, error) {
	n := min(len(all), intervalLimit)
	title := "Prior and posterior, 95 % intervals"
	if n < len(all) {
		title = fmt.Sprintf("%s (first %d of %d coefficients)", title, n, len(all))
	}
	p := NewPanel(title, "sds of the prior from its mean", "")
	sets := []intervalSet{
		{label: "prior", colour: grey, shape: draw.CircleGlyph{}},
		{label: "posterior", colour: Palette[0], shape: draw.CircleGlyph{}},
		{label: "if priors were half as wide", colour: Palette[2], shape: draw.PyramidGlyph{}},
		{label: "if priors were twice as wide", colour: Palette[1], shape: draw.SquareGlyph{}},
	}
	var names []string
	for _, a := range all[:n] {
		name := a.Name
		if a.Log {
			name = "log " + name
		}
		names = append(names, name)
		for k, m := range []*fit.Moment{&a.Prior, &a.Posterior, a.Narrow, a.Wide} {
			if m == nil {
				continue
			}
			mean, sd := (m.Mean-a.Prior.Mean)/a.Prior.SD, m.SD/a.Prior.SD
			sets[k].of = append(sets[k].of, sim.Marginal{Mean: mean, Lower: mean - normal95*sd, Upper: mean + normal95*sd})
		}
	}
	slices.Reverse(names)
	p.NominalY(names...)
	for k, set := range sets {
		if set.of == nil {
			continue // there is no posterior under this prior
		}
		if err := set.add(p, n, 0.2*(1.5-float64(k))); err != nil {
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
	const legend = 1.6 // height of the legend, in row heights
	p.Y.Min, p.Y.Max = -0.5, float64(n)-0.5+legend
	return Figure{Panels: []*plot.Plot{p}, Width: vg.Points(600), Height: vg.Points(90 + 36*(float64(n)+legend))}, nil
}
