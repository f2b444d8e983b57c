package report

import (
	"fmt"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/words"
	"fedpvi/sim"
)

// checked describes the records that a result's posterior predictive checks use.
func checked(r *sim.Result) string {
	if r.Test != nil {
		return plural(r.Test.Records, "held-out record")
	}
	return "the study's own records"
}

// PredictiveChecks writes a table of the posterior predictive checks, or nothing if the result has
// none.
func PredictiveChecks(w io.Writer, r *sim.Result) error {
	if r.Checks == nil {
		return nil
	}
	fmt.Fprintf(w, "\nOutcomes of %s, and outcomes drawn for them from the posterior\n\n", checked(r))
	if err := words.Checks(w, r.Checks); err != nil {
		return err
	}
	if r.Test != nil {
		return nil
	}
	_, err := io.WriteString(w, "\n"+wrap("The posterior was computed from these records, so that a model that does not fit is noticed less often than with held-out records (simulation.test)."))
	return err
}

// Checks draws a figure of posterior predictive checks. Each row is a statistic. It shows the
// observed value and the 95 % interval of outcomes that were drawn from the posterior, on a scale
// on which the interval is [−1, 1]. The text records says in the title which records were observed.
func Checks(all []fit.Check, records string) (Figure, error) {
	p := NewPanel("Posterior predictive checks on "+records, "half widths of the 95 % interval of drawn outcomes", "")
	drawn := intervalSet{label: "drawn from the posterior, 95 %", colour: grey, shape: draw.CircleGlyph{}}
	observed := intervalSet{label: "observed", colour: Palette[1], shape: draw.SquareGlyph{}}
	var names []string
	for _, c := range all {
		names = append(names, fmt.Sprintf("%s\n%.3g in [%.3g, %.3g]", c.Statistic, c.Observed, c.Low, c.High))
		at := 0.0
		if c.High > c.Low {
			at = (2*c.Observed - c.Low - c.High) / (c.High - c.Low)
		}
		drawn.of = append(drawn.of, sim.Marginal{Lower: -1, Upper: 1})
		observed.of = append(observed.of, sim.Marginal{Mean: at, Lower: at, Upper: at})
	}
	slices.Reverse(names)
	p.NominalY(names...)
	for k, set := range []intervalSet{drawn, observed} {
		if err := set.add(p, len(all), 0.24*(0.5-float64(k))); err != nil {
			return Figure{}, err
		}
	}
	const legend = 1.2 // height of the legend, in row heights
	margin := 0.03 * (p.X.Max - p.X.Min)
	p.X.Min, p.X.Max = p.X.Min-margin, p.X.Max+margin
	p.Y.Min, p.Y.Max = -0.5, float64(len(all))-0.5+legend
	return Figure{Panels: []*plot.Plot{p}, Width: vg.Points(600), Height: vg.Points(90 + 30*(float64(len(all))+legend))}, nil
}
