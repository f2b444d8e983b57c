package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// plannedIntervals is the JSON of the plan of a noise-aware posterior.
type plannedIntervals struct {
	Method         study.NoiseAware `json:"method"`
	GradientNoise  float64          `json:"gradient_noise_sd"` // standard deviation of the noise of all clients together
	CurvatureNoise float64          `json:"curvature_noise_sd,omitempty"`
	CurvatureClip  float64          `json:"curvature_clip,omitempty"`
	Shares         []float64        `json:"shares,omitempty"` // shares of the privacy budget
}

func newPlannedIntervals(p *pvi.Protocol) *plannedIntervals {
	if stepsOf(p) == nil {
		return nil
	}
	out := &plannedIntervals{Method: p.Study().Inference.NoiseAware}
	switch out.Method {
	case study.ClosedForm:
		out.GradientNoise = p.Method().(method.Stepped).ClosedFormNoise()
	case study.OneStep:
		c := p.After()[0]
		out.GradientNoise, out.CurvatureNoise = c.Noise(len(p.Roster()))
		out.CurvatureClip, out.Shares = c.Curvature.Clip(), c.Shares[:]
	}
	return out
}

// intervalRows returns the rows of a plan about the noise-aware posterior. It returns nil if the
// study requests none.
func intervalRows(p *pvi.Protocol) [][]string {
	if stepsOf(p) == nil {
		return nil
	}
	switch p.Study().Inference.NoiseAware {
	case study.ClosedForm:
		return [][]string{{"intervals", fmt.Sprintf("closed form: widened for noise of sd %s on the sum of gradients", number(p.Method().(method.Stepped).ClosedFormNoise()))}}
	case study.OneStep:
		c := p.After()[0]
		gradient, curvature := c.Noise(len(p.Roster()))
		return [][]string{
			{"intervals", fmt.Sprintf("one-step: a last round releases gradient and curvature; rounds, gradient, curvature take %s, %s and %s %% of the budget",
				number(100*c.Shares[0]), number(100*c.Shares[1]), number(100*c.Shares[2]))},
			{"", fmt.Sprintf("gradients clipped to %s, noise of all clients %s; curvatures to %s, noise %s",
				number(c.Gradient.Clip()), number(gradient), number(c.Curvature.Clip()), number(curvature))},
		}
	case study.Iterates:
		return [][]string{{"intervals", "widened by the variance of the last rounds' means, as published: to compare with, not to rely on"}}
	}
	return [][]string{{"intervals", "plain: they do not include the privacy noise"}}
}

// Intervals90 writes a table of the 90 % intervals of the posterior and of the noise-aware
// posterior. Without a noise-aware posterior it writes nothing.
func Intervals90(w io.Writer, r *sim.Result) error {
	a := r.NoiseAware
	if a == nil {
		return nil
	}
	fmt.Fprintf(w, "\nMiddle 90 %% of every coefficient, noise-aware by %s\n\n", a.Method)
	rows := [][]string{{"", "mean", "sd", "5 %", "95 %", "│", "mean", "sd", "5 %", "95 %"}}
	for _, c := range a.Coefficients {
		row := []string{c.Name}
		for _, x := range []sim.Interval{c.NoiseAware, c.DataOnly} {
			row = append(row, number(x.Mean), number(x.SD), number(x.Lower), number(x.Upper), "│")
		}
		rows = append(rows, row[:len(row)-1])
	}
	if err := Table(w, "  ", 1, rows); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\nRight of the bar: the plain posterior, without the privacy noise.\n")
	return err
}

// noiseAware writes noise-aware.csv and draws from the noise-aware posterior, if there is one.
func (f *Folder) noiseAware(r *sim.Result, normal func(chain int) func() float64) error {
	a := r.NoiseAware
	if a == nil {
		return nil
	}
	d := len(a.Mean)
	family := gaussian.Full(d)
	cov := mat.NewSymDense(d, slices.Concat(a.Covariance...))
	wide := *r
	wide.Natural = make([]float64, family.Size())
	wide.Notes = []string{"The spread includes the privacy noise, by " + a.Method + "."}
	err := errors.Join(
		family.FromMoments(wide.Natural, a.Mean, cov),
		f.write("noise-aware.csv", func(w io.Writer) error { return noiseAwareCSV(w, a) }),
	)
	if err != nil {
		return err
	}
	return f.draws("noise-aware-draws", &wide, family, normal)
}

func noiseAwareCSV(w io.Writer, a *sim.NoiseAware) error {
	out := csv.NewWriter(w)
	out.Write([]string{"coefficient", "mean", "sd", "q5", "q95", "data_only_mean", "data_only_sd", "data_only_q5", "data_only_q95"})
	for _, c := range a.Coefficients {
		row := []string{c.Name}
		for _, s := range []sim.Interval{c.NoiseAware, c.DataOnly} {
			for _, x := range []float64{s.Mean, s.SD, s.Lower, s.Upper} {
				row = append(row, strconv.FormatFloat(x, 'g', -1, 64))
			}
		}
		out.Write(row)
	}
	out.Flush()
	return out.Error()
}
