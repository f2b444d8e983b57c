package audit

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/accountant"
	"fedpvi/dpmech"
)

// accountedSamples compares the accountant's δ for one step of a sampled sum with the exact δ of
// two neighbouring data sets, for which the distributions of the result are known.
func accountedSamples(context.Context, task) (Check, error) {
	const rate, records, sigma = 0.25, 12, 1.5
	poisson, fixed := dpmech.Poisson{Rate: rate}, dpmech.WithoutReplacement{Batch: rate * records}
	var at int
	for _, c := range []struct {
		sampling  dpmech.Sampling
		adjacency accountant.Adjacency
		with      float64 // mean of the sum when the protected record is drawn; when it is not, the mean is 0
		without   float64 // the same mean for the neighbouring data set: 0, or the vector of the replacement
	}{
		{poisson, accountant.AddRemove, 1, 0},
		{poisson, accountant.ZeroOut, 1, 0},
		{poisson, accountant.ReplaceOne, 1, -1},
		// In a batch of fixed size, another record is drawn whenever the protected one is not. In
		// the worst case, every other vector is the negative of the protected record's.
		{fixed, accountant.ReplaceOne, 2, 0},
		{fixed, accountant.ZeroOut, 1, 0},
		// A batch of fixed size has another record in place of the absent one. If its vector is the
		// negative of the protected record's, the two sums differ by twice that vector.
		{fixed, accountant.AddRemove, 2, 0},
		{dpmech.FullBatch{}, accountant.ReplaceOne, 1, -1},
	} {
		m, err := dpmech.NewSampledSum(dpmech.SampledConfig{
			Sampling: c.sampling, Records: records, Steps: 1, Dim: 1, Clip: 1, NoiseMultiplier: sigma, Adjacency: c.adjacency,
		})
		if err != nil {
			return Check{}, err
		}
		profile, err := accountant.Account(m.Event())
		if err != nil {
			return Check{}, err
		}
		q := rate
		if c.sampling == (dpmech.FullBatch{}) {
			q = 1
		}
		for _, epsilon := range Epsilons {
			claimed, err := profile.Delta(epsilon)
			if err != nil {
				return Check{}, err
			}
			// The mechanism rounds the sd of its noise up to whole lattice steps. This tolerance
			// covers the rounding, which multiplies the sd by at most 1 + 2^-23.
			if seen := stepDelta(q, c.with, c.without, sigma, epsilon); claimed.Upper < seen*(1-1e-4) {
				return certain(false, "%T, %s: δ(%g) = %.5g is accounted, two inputs reveal %.5g", c.sampling, c.adjacency, epsilon, claimed.Upper, seen), nil
			}
			at++
		}
	}
	return certain(true, "%s", fmt.Sprintf("δ(ε) of a step covers two inputs of known law, %d times", at)), nil
}

// stepDelta returns the exact δ(ε) of a step that outputs one number: the maximum of P(S) −
// e^ε·Q(S) over sets S of outputs. With probability q, the output comes from N(with, σ²) under P
// and from N(without, σ²) under Q. Otherwise it comes from N(0, σ²) under both. P/Q grows with the
// output, so the best S has all outputs at which P/Q exceeds e^ε.
func stepDelta(q, with, without, sigma, epsilon float64) float64 {
	above := func(mean, x float64) float64 { return distuv.Normal{Mu: mean, Sigma: sigma}.Survival(x) }
	density := func(mean, x float64) float64 { return math.Exp((mean*x - mean*mean/2) / (sigma * sigma)) }
	odds := math.Exp(epsilon)
	low, high := -100*sigma, 100*sigma
	for range 100 {
		x := (low + high) / 2
		if 1-q+q*density(with, x) > odds*(1-q+q*density(without, x)) {
			high = x
		} else {
			low = x
		}
	}
	p := (1-q)*above(0, high) + q*above(with, high)
	return p - odds*((1-q)*above(0, high)+q*above(without, high))
}
