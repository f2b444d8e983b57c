package sim

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/lastround"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

// A NoiseAware describes the noise-aware posterior and compares it with q. The rounds never use it.
// Predictions use it from version 2 of the study language on; in version 1 they use q.
type NoiseAware struct {
	Method       string     `json:"method"` // value of the setting inference.noise_aware
	Coefficients []Compared `json:"coefficients"`
	Marginals    []Marginal `json:"marginals"`

	// GradientNoise is the standard deviation of the noise in each element of the sum of all
	// clients' gradients, and CurvatureNoise that in each element of the sum of their curvatures.
	GradientNoise  float64 `json:"gradient_noise_sd"`
	CurvatureNoise float64 `json:"curvature_noise_sd,omitempty"`

	Mean       []float64   `json:"mean"`       // mean of θ
	Covariance [][]float64 `json:"covariance"` // covariance of θ
}

// Compared has the intervals of a coefficient under q and under the noise-aware posterior.
type Compared struct {
	Name       string   `json:"name"`
	DataOnly   Interval `json:"data_only"`
	NoiseAware Interval `json:"noise_aware"`
}

// An Interval holds the moments of a marginal, and its central 95 % and 90 % intervals.
type Interval struct {
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"`
	Lower float64 `json:"q2.5"`
	Upper float64 `json:"q97.5"`
	Q5    float64 `json:"q5"`
	Q95   float64 `json:"q95"`
}

// normal90 is the standard normal quantile of 0.95, the half-width of a 90 % interval.
const normal90 = 1.644853626951472

// interval returns the intervals of a parameter that is N(m, sd²) on the model's scale.
func interval(p fit.Parameter, m, sd float64) Interval {
	of := marginal(p, m, sd)
	return Interval{of.Mean, of.SD, of.Lower, of.Upper, p.Back(m - normal90*sd), p.Back(m + normal90*sd)}
}

// lastRound runs the last round of the study, unless there is none or it has already been run.
func (f *Federation) lastRound() error {
	if len(f.Protocol.After()) == 0 || f.last != nil {
		return nil
	}
	server, err := f.Server.LastRound()
	if err != nil {
		return err
	}
	plan, _ := server.Next()
	releases := make([]lastround.Release, len(f.Sites))
	f.last = make([]*lastround.Site, len(f.Sites))
	err = f.forSites(len(f.Sites), func(m int) error {
		site, err := f.Sites[m].LastRound(f.Shards[m])
		if err != nil {
			return err
		}
		f.last[m] = site
		return site.Propose(&releases[m], &plan, seeded.Stream(f.seed, purposeOneStep, uint64(m)))
	})
	if err != nil {
		return err
	}
	if f.adder != nil {
		f.LastOutcome, err = f.lastSecurely(server, releases)
		return err
	}
	for m := range releases {
		if f.LastOutcome, err = server.Collect(&releases[m]); err != nil {
			return err
		}
	}
	return nil
}

// Releases returns the number of releases of client m that cost privacy, including the last round,
// for [pvi.Protocol.Costs].
func (f *Federation) Releases(m int) int {
	n := f.Sites[m].Releases()
	if f.last != nil {
		n += f.last[m].Releases()
	}
	return n
}

// noiseAware returns the noise-aware posterior, or nil if the study does not ask for one or has not
// finished.
func (f *Federation) noiseAware(natural []float64) (*NoiseAware, error) {
	p := f.Protocol
	how := p.Study().Inference.NoiseAware
	out := &NoiseAware{Method: string(how)}
	var mean []float64
	var cov *mat.SymDense
	var err error
	switch {
	case how == study.ClosedForm:
		out.GradientNoise = p.Method().(method.Stepped).ClosedFormNoise()
		mean, cov, err = p.ClosedForm(natural)
	case how == study.OneStep && f.LastOutcome != nil:
		last := p.After()[0]
		out.GradientNoise, out.CurvatureNoise = last.Noise(len(f.LastOutcome.Participants))
		mean, cov, err = last.Posterior(f.LastOutcome, p.Method().(method.Stepped).ClosedFormNoise())
	case how == study.Iterates && f.iterates.n > 1:
		if mean, cov, err = p.Family().Moments(natural); err == nil {
			f.iterates.widen(cov)
		}
	default:
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("noise-aware posterior: %w", err)
	}
	plainMean, plain, err := p.Family().Moments(natural)
	if err != nil {
		return nil, err
	}
	out.Mean, out.Marginals = mean, marginals(p.Model(), p.Model().Units(), mean, cov)
	for i, parameter := range p.Model().Parameters.All() {
		out.Coefficients = append(out.Coefficients, Compared{
			Name:       parameter.Name,
			DataOnly:   interval(parameter, plainMean[i], math.Sqrt(plain.At(i, i))),
			NoiseAware: interval(parameter, mean[i], math.Sqrt(cov.At(i, i))),
		})
		out.Covariance = append(out.Covariance, mat.Row(nil, i, cov))
	}
	return out, nil
}
