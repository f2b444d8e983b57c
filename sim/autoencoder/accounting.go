package autoencoder

import (
	"fmt"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/gpu/vae"
)

// An Accounting holds the privacy cost of a run for each image. For comparison, it also has the
// cost that the d3p paper states for the same noise, and a proved bound for the way in which the
// paper samples.
type Accounting struct {
	Epsilon     float64 `json:"epsilon"` // upper bound on the ε of the whole run
	Delta       float64 `json:"delta"`
	Adjacency   string  `json:"adjacency"`
	Sampling    string  `json:"sampling"`
	Numeric     string  `json:"numeric"`     // name of the arithmetic that adds the gradients
	Sensitivity float64 `json:"sensitivity"` // clip plus a bound on the rounding error
	Sigma       float64 `json:"sigma"`       // standard deviation of the noise in a sum of gradients

	// Published is the ε that the d3p paper states, and PublishedReplace the ε that d3p's function
	// approximate_sigma returns. Both assume batches of fixed size that are drawn without
	// replacement.
	Published        float64 `json:"published"`
	PublishedReplace float64 `json:"published_replace"`

	// Proved is an upper bound on ε for such batches, under add-remove.
	Proved float64 `json:"published_proved"`
}

// mechanism returns the mechanism that releases gradient sums of images.
func (s *Spec) mechanism(pixels, records int) (*dpmech.ProductSum, error) {
	shape := vae.Shape{Pixels: pixels, Hidden: s.Hidden, Latent: s.Latent}
	return dpmech.NewProductSum(dpmech.ProductConfig{
		Sampling: dpmech.Poisson{Rate: s.Rate()}, Records: records, Steps: s.Steps(),
		Layers: shape.Layers(), Clip: s.Privacy.Clip, NoiseMultiplier: s.Privacy.NoiseMultiplier,
		Together: s.together(), Adjacency: accountant.AddRemove,
	})
}

// Account returns the privacy cost of the run without running it, or nil if the run has no privacy.
func (s *Spec) Account(pixels int) (*Accounting, error) {
	if s.Privacy == nil {
		return nil, nil
	}
	m, err := s.mechanism(pixels, s.Records)
	if err != nil {
		return nil, err
	}
	a := &Accounting{
		Delta: s.Privacy.Delta, Adjacency: string(accountant.AddRemove), Sampling: "poisson", Numeric: dpmech.BoundedFloat,
		Sensitivity: m.Sensitivity(), Sigma: m.Sigma(),
	}
	if a.Epsilon, err = s.epsilon(m.Event()); err != nil {
		return nil, err
	}
	rate, sigma := s.Rate(), s.Privacy.NoiseMultiplier
	for to, event := range map[*float64]accountant.Event{
		&a.Published:        accountant.Poisson{Rate: rate, Sigma: sigma, Adjacency: accountant.AddRemove},
		&a.PublishedReplace: accountant.Poisson{Rate: rate, Sigma: sigma, Adjacency: accountant.ReplaceOne},
		&a.Proved:           accountant.WithoutReplacement{Rate: rate, Sigma: sigma, Adjacency: accountant.AddRemove},
	} {
		if *to, err = s.epsilon(accountant.Repeated{Event: event, Times: s.Steps()}); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (s *Spec) epsilon(e accountant.Event) (float64, error) {
	var bound accountant.Bound
	profile, err := accountant.Account(e)
	if err == nil {
		bound, err = profile.Epsilon(s.Privacy.Delta)
	}
	if err != nil {
		return 0, fmt.Errorf("accounting: %w", err)
	}
	return bound.Upper, nil
}
