package report

import (
	"encoding/csv"
	"fmt"
	"io"

	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// plannedIntervals describes the noise-aware posterior in the JSON of a plan.
type plannedIntervals struct {
	Method study.NoiseAware `json:"method"`
	// standard deviation of the noise in the sum of all clients' gradients
	GradientNoise  float64   `json:"gradient_noise_sd"`
	CurvatureNoise float64   `json:"curvature_noise_sd,omitempty"`
	CurvatureClip  float64   `json:"curvature_clip,omitempty"`
	Shares         []float64 `json:"shares,omitempty"` // share of the privacy budget that each kind of release gets
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
	if p.Study().Points() {
		return [][]string{{"intervals", "none: the result has point estimates alone"}}
	}
	return [][]string{{"intervals", "plain: they do not include the privacy noise"}}
}

func noiseAwareCSV(w io.Writer, a *sim.NoiseAware) error {
	rows := [][]string{{"coefficient", "mean", "sd", "q5", "q95", "data_only_mean", "data_only_sd", "data_only_q5", "data_only_q95", "q2.5", "q97.5", "data_only_q2.5", "data_only_q97.5"}}
	for _, c := range a.Coefficients {
		a, d := c.NoiseAware, c.DataOnly
		rows = append(rows, append([]string{c.Name}, exact(a.Mean, a.SD, a.Q5, a.Q95, d.Mean, d.SD, d.Q5, d.Q95, a.Lower, a.Upper, d.Lower, d.Upper)...))
	}
	return csv.NewWriter(w).WriteAll(rows)
}
