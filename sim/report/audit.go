package report

import (
	"errors"
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"fedpvi/pvi/words"
	"fedpvi/sim/audit"
)

// Audited writes a table of an audit's checks, followed by the findings.
func Audited(w io.Writer, r *audit.Report) error {
	rows := [][]string{{"case", "test", "", ""}}
	for _, c := range r.Checks {
		rows = append(rows, []string{c.Case, c.Name, result(c.Passed), c.Detail})
	}
	if err := words.Table(w, "", 4, rows); err != nil {
		return err
	}
	verdict := "nothing found"
	if n := len(r.Findings()); n > 0 {
		verdict = fmt.Sprintf("%d found", n)
	}
	_, err := fmt.Fprintf(w, "\n%d checks, seed %d: %s. Code that keeps its promises shows a finding with probability %g at most.\n",
		len(r.Checks), r.Seed, verdict, r.FalseAlarm)
	return err
}

func result(passed bool) string {
	if passed {
		return "passed"
	}
	return "FOUND"
}

const (
	auditColumns = 3
	auditPanel   = 190 // height of a panel in points
)

// AuditCurves plots each attack's true-positive rate against its false-positive rate, together with
// the bound that the claimed privacy sets.
func AuditCurves(r *audit.Report) (Figure, error) {
	f := Figure{Columns: auditColumns}
	for _, c := range r.Checks {
		if c.Profile == nil {
			continue
		}
		p, err := attackPanel(c, len(f.Panels) == 0)
		if err != nil {
			return Figure{}, err
		}
		if len(f.Panels)%auditColumns == 0 {
			p.Y.Label.Text = "true-positive rate"
		}
		f.Panels = append(f.Panels, p)
	}
	if len(f.Panels) == 0 {
		return Figure{}, errors.New("audit: no attack was made, so there is nothing to draw")
	}
	rows := (len(f.Panels) + auditColumns - 1) / auditColumns
	f.Width, f.Height = vg.Points(auditColumns*(auditPanel+10)), vg.Points(float64(rows)*auditPanel)
	return f, nil
}

func attackPanel(c audit.Check, legend bool) (*plot.Plot, error) {
	title := c.Case
	if !c.Passed {
		title += ": FOUND"
	}
	p := newSketch(title, "false-positive rate", "")
	p.Title.TextStyle.Font.Size = vg.Points(9)
	for i, set := range []struct {
		label  string
		rates  []audit.Rate
		colour color.Color
	}{
		{"claimed bound", c.Profile.Claimed, Palette[0]},
		{"this attack", c.Profile.Curve, Palette[1]},
		{"guessing", diagonal(c.Profile.Curve), grey},
	} {
		var xy plotter.XYs
		for _, rate := range set.rates {
			if rate.TPR > 0 { // a logarithmic scale cannot show zero
				xy = append(xy, plotter.XY{X: rate.FPR, Y: rate.TPR})
			}
		}
		line := p.line(xy, set.colour, 1.3, Dashes[i])
		if legend {
			p.Legend.Add(set.label, line)
		}
	}
	LogX(p.Plot)
	LogY(p.Plot)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 1e-3, 1, 1e-3, 1
	p.Legend.Top = false
	p.Legend.TextStyle.Font.Size = vg.Points(8)
	p.Legend.XOffs, p.Legend.YOffs = -vg.Points(22), vg.Points(3)
	return p.Plot, p.err
}

func diagonal(rates []audit.Rate) []audit.Rate {
	out := make([]audit.Rate, len(rates))
	for i, r := range rates {
		out[i] = audit.Rate{FPR: r.FPR, TPR: r.FPR}
	}
	return out
}
