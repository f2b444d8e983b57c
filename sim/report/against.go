package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedpvi/pvi/fit"
	"fedpvi/sim"
)

// AgainstPrior draws the 95 % intervals of the prior, of the posterior, and of the posteriors that
// other priors would give. The axis shows the distance from the prior's mean in sds of the prior.
func AgainstPrior(all []fit.AgainstPrior) (Figure, error) {
	n := min(len(all), intervalLimit)
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
	const legend = 1.6 // height of the legend, in row heights
	title := firstOf("Prior and posterior, 95 % intervals", n, len(all), "coefficients")
	p := intervalPanel(title, "sds of the prior from its mean", names, sets, 0.2, legend)
	p.zero(n)
	p.widen()
	return Figure{Panels: []*plot.Plot{p.Plot}, Width: vg.Points(600), Height: vg.Points(90 + 36*(float64(n)+legend))}, p.err
}
