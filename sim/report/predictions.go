package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
	"fedpvi/sim"
)

// Predictions writes how well the posterior and the pooled fit predict held-out records, if there
// are any.
func Predictions(w io.Writer, st *study.Study, r *sim.Result) error {
	if r.Test == nil {
		return nil
	}
	fmt.Fprintf(w, "\nPredictions of %s held out\n\n", plural(r.Test.Records, "record"))
	rows := [][]string{{"", "federated", "pooled, without privacy"}}
	add := func(name string, of func(*sim.Predictions) *float64) {
		if a, b := of(r.Test), of(r.NonPrivateTest); a != nil && b != nil {
			rows = append(rows, []string{name, number(*a), number(*b)})
		}
	}
	add("accuracy", func(p *sim.Predictions) *float64 { return p.Accuracy })
	add("commonest outcome alone", func(p *sim.Predictions) *float64 { return p.Majority })
	add("area under the ROC curve", func(p *sim.Predictions) *float64 { return p.AUC })
	add("Brier score", func(p *sim.Predictions) *float64 { return p.Brier })
	add(rmseName(st), func(p *sim.Predictions) *float64 { return p.RMSE })
	add("mean log-likelihood", func(p *sim.Predictions) *float64 { return &p.LogLikelihood })
	if err := words.Table(w, "  ", 1, rows); err != nil {
		return err
	}
	if n := r.Test.Uncertain; n > 0 {
		io.WriteString(w, "\n"+wrap(words.UncertainDensities(n)))
	}
	if !st.Honest() {
		io.WriteString(w, "\n"+wrap("The federated predictions average over q, which is not a posterior with honest intervals."))
	}
	return calibration(w, st, r.Test.Calibration)
}

func rmseName(st *study.Study) string {
	if c, ok := st.Column(st.Model.Outcome); ok && c.Unit != "" {
		return "root mean square error, " + c.Unit
	}
	return "root mean square error"
}

func calibration(w io.Writer, st *study.Study, bins []sim.Bin) error {
	if len(bins) == 0 {
		return nil
	}
	predicted, observed := calibrationAxes(st)
	fmt.Fprintf(w, "\n  Calibration: groups of records by their prediction\n\n")
	rows := [][]string{{predicted, "on average", observed, "± s.e.", "records"}}
	for _, b := range bins {
		rows = append(rows, []string{
			number(b.Lower) + " to " + number(b.Upper), number(b.Predicted), number(b.Observed), number(b.Error), strconv.Itoa(b.Records),
		})
	}
	return words.Table(w, "  ", 1, rows)
}

func calibrationAxes(st *study.Study) (predicted, observed string) {
	switch st.Model.Kind() {
	case study.Binary:
		return "predicted probability of " + words.Positive(st), "observed share"
	case study.Class:
		return "probability of the likeliest level", "share of right predictions"
	}
	return "predicted " + st.Model.Outcome, "observed mean"
}

func predictionsCSV(w io.Writer, st *study.Study, r *sim.Result) error {
	header := []string{"outcome", "mean", "log_density"}
	c, _ := st.Column(st.Model.Outcome)
	switch st.Model.Kind() {
	case study.Class:
		header = []string{"outcome", "log_density"}
		for _, level := range c.Levels {
			header = append(header, "p("+level+")")
		}
	case study.Binary:
		header[1] = "p(" + words.Positive(st) + ")"
	case study.NoOutcome:
		header = []string{"log_density"}
	}
	rows := [][]string{header}
	text := func(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
	for _, p := range r.Predicted {
		var row []string
		switch st.Model.Kind() {
		case study.NoOutcome:
			row = []string{text(p.LogDensity)}
		case study.Class:
			row = []string{c.Levels[int(p.Outcome)], text(p.LogDensity)}
			for _, q := range p.Classes {
				row = append(row, text(q))
			}
		case study.Measured:
			row = []string{text(st.Unscale(c, p.Outcome)), text(st.Unscale(c, p.Mean)), text(p.LogDensity - math.Log(st.OutcomeUnit()))}
		default:
			row = []string{text(p.Outcome), text(p.Mean), text(p.LogDensity)}
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// Calibration plots observed outcomes against predictions.
func Calibration(st *study.Study, p *sim.Predictions) (Figure, error) {
	predicted, observed := calibrationAxes(st)
	title := fmt.Sprintf("Calibration on %s held out", plural(p.Records, "record"))
	panel := newSketch(title, predicted, observed)
	low, high := math.Inf(1), math.Inf(-1)
	var points plotter.XYs
	for _, b := range p.Calibration {
		points = append(points, plotter.XY{X: b.Predicted, Y: b.Observed})
		bottom, top := b.Observed-normal95*b.Error, b.Observed+normal95*b.Error
		panel.line(plotter.XYs{{X: b.Predicted, Y: bottom}, {X: b.Predicted, Y: top}}, Palette[0], 1.2, nil)
		low, high = min(low, b.Predicted, bottom), max(high, b.Predicted, top)
	}
	if kind := st.Model.Kind(); kind == study.Binary || kind == study.Class {
		low, high = min(low, 0), max(high, 1)
	}
	diagonal := panel.line(plotter.XYs{{X: low, Y: low}, {X: high, Y: high}}, grey, 1, Dashes[1])
	dots := panel.dots(points, Palette[0], 3, draw.CircleGlyph{})
	panel.Legend.Left = true
	panel.Legend.Add("mean of a group, 95 % interval", dots)
	panel.Legend.Add("perfect calibration", diagonal)
	margin := 0.03 * (high - low)
	panel.X.Min, panel.X.Max, panel.Y.Min, panel.Y.Max = low-margin, high+margin, low-margin, high+margin
	return Figure{Panels: []*plot.Plot{panel.Plot}, Width: vg.Points(400), Height: vg.Points(400)}, panel.err
}

// normal95 is the 97.5 % quantile of the standard normal distribution.
const normal95 = 1.959963984540054
