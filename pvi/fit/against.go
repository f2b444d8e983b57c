package fit

import (
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/gaussian"
)

// AgainstPrior compares the posterior of one coordinate of θ with its prior, and with the
// posteriors that other priors would lead to.
type AgainstPrior struct {
	Name  string `json:"name"`
	Log   bool   `json:"log"` // whether the coordinate is the logarithm of the parameter
	Prior Moment `json:"prior"`

	Posterior Moment `json:"posterior"`

	// Narrow and Wide are the posteriors under priors with half and twice the standard deviations.
	// They are nil if these posteriors are improper.
	Narrow *Moment `json:"if_priors_half_as_wide,omitempty"`
	Wide   *Moment `json:"if_priors_twice_as_wide,omitempty"`
}

// A Moment holds the mean and the standard deviation of one coordinate, on the model's scale.
type Moment struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// Shift returns how far other is from a.Posterior: the difference of the means, in standard
// deviations of a.Posterior.
func (a *AgainstPrior) Shift(other *Moment) float64 {
	return (other.Mean - a.Posterior.Mean) / a.Posterior.SD
}

// AgainstPrior compares the posterior of each coordinate with its prior, where N(mean, cov) is the
// posterior of all coordinates. To find the posterior under another prior, it keeps the Gaussian
// likelihood, whose precision is the posterior's minus the prior's. AgainstPrior returns nil unless
// the coordinates have independent normal priors.
func (m *Model) AgainstPrior(mean []float64, cov mat.Symmetric) ([]AgainstPrior, error) {
	if m.General() || m.Centred() {
		return nil, nil
	}
	family := gaussian.Full(m.Dim())
	natural := make([]float64, family.Size())
	if err := family.FromMoments(natural, mean, cov); err != nil {
		return nil, err
	}
	prior, err := m.Prior(family)
	if err != nil {
		return nil, err
	}
	under := func(width float64) []Moment {
		other := make([]float64, len(natural))
		for i, x := range natural {
			other[i] = x - prior[i] + prior[i]/(width*width)
		}
		mean, cov, err := family.Moments(other)
		if err != nil {
			return nil
		}
		return moments(mean, cov)
	}
	now, narrow, wide := moments(mean, cov), under(.5), under(2)
	out := make([]AgainstPrior, m.Dim())
	for i, p := range m.Parameters.All() {
		out[i] = AgainstPrior{Name: p.Name, Log: p.Log, Prior: Moment(p.Prior), Posterior: now[i]}
		if narrow != nil {
			out[i].Narrow = &narrow[i]
		}
		if wide != nil {
			out[i].Wide = &wide[i]
		}
	}
	return out, nil
}

func moments(mean []float64, cov mat.Symmetric) []Moment {
	out := make([]Moment, len(mean))
	for i, m := range mean {
		out[i] = Moment{m, math.Sqrt(cov.At(i, i))}
	}
	return out
}

// Conflict returns the names of parameters whose posterior mean is implausibly far from the prior
// mean, or "" if there are none. The moments of the prior and the posterior are on the model's
// scale.
//
// If the true value is drawn from the prior, the posterior mean of a parameter varies around the
// prior mean. Its variance is the prior variance minus the posterior variance. More than three
// standard deviations are implausible. This is the check of Evans and Moshonov ("Checking for
// prior-data conflict", Bayesian Analysis 1(4), 2006), applied to each posterior mean.
func (m *Model) Conflict(priorMean []float64, prior mat.Symmetric, mean []float64, posterior mat.Symmetric) string {
	const most = 3
	var names []string
	for i, p := range m.Parameters.All() {
		variance := prior.At(i, i) - posterior.At(i, i)
		if apart := mean[i] - priorMean[i]; variance > 0 && apart*apart > most*most*variance {
			names = append(names, p.Name)
		}
	}
	if names == nil {
		return ""
	}
	return "The prior contradicts the records about: " + strings.Join(names, ", ") + ". It draws their posterior to its mean, and intervals may miss the truth: give them a wider prior, with prior.sd or prior.coefficients."
}
