package report

import (
	"fmt"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/words"
	"fedpvi/sim"
)

// checked says which records the posterior predictive checks use.
func checked(r *sim.Result) string {
	if r.Test != nil {
		return plural(r.Test.Records, "held-out record")
	}
	return "the study's own records"
}

// PredictiveChecks writes a table of the posterior predictive checks, if the result has any.
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

// Checks draws posterior predictive checks with one row per statistic: the observed value, and the
// 95 % interval of drawn outcomes, which is scaled to [−1, 1]. records describes the observed
// records in the title.
func Checks(all []fit.Check, records string) (Figure, error) {
	drawn := intervalSet{label: "drawn from the posterior, 95 %", colour: grey, shape: draw.CircleGlyph{}}
	observed := intervalSet{label: "observed", colour: Palette[1], shape: draw.SquareGlyph{}}
	var names []string
	for _, c := range all {
		seen, low, high := alike(c.Observed, c.Low, c.High)
		names = append(names, fmt.Sprintf("%s\n%s, drawn [%s, %s]", c.Statistic, seen, low, high))
		at := 0.0
		if c.High > c.Low {
			at = (2*c.Observed - c.Low - c.High) / (c.High - c.Low)
		}
		drawn.of = append(drawn.of, sim.Marginal{Lower: -1, Upper: 1})
		observed.of = append(observed.of, sim.Marginal{Mean: at, Lower: at, Upper: at})
	}
	const legend = 1.2 // height of the legend, in row heights
	p := intervalPanel("Posterior predictive checks on "+records, "half widths of the 95 % interval of drawn outcomes", names, []intervalSet{drawn, observed}, 0.24, legend)
	p.widen()
	return Figure{Panels: []*plot.Plot{p.Plot}, Width: vg.Points(600), Height: vg.Points(90 + 30*(float64(len(all))+legend))}, p.err
}
