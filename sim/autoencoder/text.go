package autoencoder

import (
	"fmt"
	"io"
)

// Text writes the result for people to read.
func (r *Result) Text(w io.Writer) error {
	fmt.Fprintf(w, "Autoencoder of %d weights, %d steps of %d images on average of %d.\nLoss of a test image, −ELBO: %.2f nats.\n\n", r.Parameters, r.Steps, r.Batch, r.Records, r.TestLoss)
	if r.ComputedOn != "" {
		fmt.Fprintf(w, "Computed on %s.\n\n", r.ComputedOn)
	}
	return r.Privacy.Text(w)
}

// Text writes the privacy cost for people. A nil accounting means no privacy.
func (a *Accounting) Text(w io.Writer) error {
	if a == nil {
		_, err := fmt.Fprintln(w, "None. This run makes no promise of privacy.")
		return err
	}
	_, err := fmt.Fprintf(w, `Privacy of every image, δ = %.3g, against an observer of every step:

  ε = %.3f   this run: Poisson batches, an image more or less; noise of %.4g for a
              sensitivity of %.5g, the rounding of float32 sums with it
  ε = %.3f   as the d3p paper claims for batches of a fixed size, an image more or less
  ε = %.3f   as its function approximate_sigma does, an image for another one
  ε = %.3f   what such batches cost, an image more or less

A simulation: its noise comes from a seed, and protects nobody.
`, a.Delta, a.Epsilon, a.Sigma, a.Sensitivity, a.Published, a.PublishedReplace, a.Proved)
	return err
}
