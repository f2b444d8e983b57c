package autoencoder

import (
	"fmt"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/gpu/vae"
)

// An Accounting is what a run costs every image, and what the d3p paper says and would have
// to say of the same noise.
type Accounting struct {
	Epsilon     float64 `json:"epsilon"` // of all steps, certified
	Delta       float64 `json:"delta"`
	Adjacency   string  `json:"adjacency"`
	Sampling    string  `json:"sampling"`
	Numeric     string  `json:"numeric"`     // how records were added
	Sensitivity float64 `json:"sensitivity"` // clip and rounding
	Sigma       float64 `json:"sigma"`       // of the noise

	// Published is what d3p claims for batches of a fixed size without replacement: by the
	// relation of its paper, and by that of its function approximate_sigma.
	Published        float64 `json:"published"`
	PublishedReplace float64 `json:"published_replace"`

	// Proved is what those batches cost, one image more or less.
	Proved float64 `json:"published_proved"`
}

// mechanism returns what hides the images' gradients, for images of so many pixels.
func (s *Spec) mechanism(pixels, records int) (*dpmech.ProductSum, error) {
	shape := vae.Shape{Pixels: pixels, Hidden: s.Hidden, Latent: s.Latent}
	return dpmech.NewProductSum(dpmech.ProductConfig{
		Sampling: dpmech.Poisson{Rate: s.Rate()}, Records: records, Steps: s.Steps(),
		Layers: shape.Layers(), Clip: s.Privacy.Clip, NoiseMultiplier: s.Privacy.NoiseMultiplier,
		Together: s.together(), Adjacency: accountant.AddRemove,
	})
}

// Account returns what the run costs, nil without a promise. Nothing is run.
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
	own, err := s.epsilon(m.Event())
	if err != nil {
		return nil, err
	}
	a.Epsilon = own.Upper
	rate, sigma := s.Rate(), s.Privacy.NoiseMultiplier
	for _, of := range []struct {
		event accountant.Event
		to    *float64
	}{
		{accountant.Poisson{Rate: rate, Sigma: sigma, Adjacency: accountant.AddRemove}, &a.Published},
		{accountant.Poisson{Rate: rate, Sigma: sigma, Adjacency: accountant.ReplaceOne}, &a.PublishedReplace},
		{accountant.WithoutReplacement{Rate: rate, Sigma: sigma, Adjacency: accountant.AddRemove}, &a.Proved},
	} {
		bound, err := s.epsilon(accountant.Repeated{Event: of.event, Times: s.Steps()})
		if err != nil {
			return nil, err
		}
		*of.to = bound.Upper
	}
	return a, nil
}

func (s *Spec) epsilon(e accountant.Event) (accountant.Bound, error) {
	profile, err := accountant.Account(e)
	if err != nil {
		return accountant.Bound{}, fmt.Errorf("accounting: %w", err)
	}
	bound, err := profile.Epsilon(s.Privacy.Delta)
	if err != nil {
		return bound, fmt.Errorf("accounting: %w", err)
	}
	return bound, nil
}
