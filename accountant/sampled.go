package accountant

import (
	"errors"
	"fmt"
)

// Poisson is one release of a sum over a random sample of the records. Each record is in the sample
// with probability Rate, independently of the others. The vectors in the sum have L2 norm at most
// 1, and each element of the sum has independent N(0, Sigma²) noise.
//
// The dominating pairs are, with N(m) = N(m, Sigma²) and q = Rate,
//
//   - under add-remove and zero-out, (1−q)N(0) + qN(1) against N(0), and the reverse;
//     each order composes separately (Zhu, Dong, Wang, "Optimal Accounting of
//     Differential Privacy via Characteristic Function", 2022, theorem 11);
//   - under replace-one, (1−q)N(0) + qN(1) against (1−q)N(0) + qN(−1) (Lebeda, Regehr,
//     Kamath, Steinke, "Avoiding Pitfalls for Privacy Accounting of Subsampled Mechanisms
//     under Composition", 2024, proposition 13).
//
// If one record has norm 1 and all others have norm 0, these are exactly the pairs, so the bounds
// are tight.
type Poisson struct {
	Rate      float64 // sampling probability in [0, 1]
	Sigma     float64
	Adjacency Adjacency
}

func (e Poisson) addTo(t *tally, times float64) error {
	if err := checkSampled(e.Rate, e.Sigma, e.Adjacency, t); err != nil {
		return fmt.Errorf("poisson event: %w", err)
	}
	switch e.Rate {
	case 0:
	case 1:
		mu := e.Adjacency.Factor() / e.Sigma
		t.gaussian(mu, up(mu), times)
	default:
		t.sample(e, times)
	}
	return nil
}

func checkSampled(rate, sigma float64, a Adjacency, t *tally) error {
	var err error
	if !(rate >= 0 && rate <= 1) {
		err = fmt.Errorf("the sampling rate must lie in [0, 1], got %g", rate)
	} else if rate > 0 && rate < minRate {
		err = fmt.Errorf("the sampling rate must be 0 or at least %g, got %g", minRate, rate)
	}
	return errors.Join(err, positive("the noise multiplier", sigma), atLeast("the noise multiplier", sigma, minSigma), t.under(a))
}

// minRate is the smallest positive sampling rate at which the quadrature in [moments] is accurate.
const minRate = 1e-12

// minSigma is the smallest noise multiplier for a sampled release. With less noise, a single
// release would have a privacy loss of several hundred.
const minSigma = 0.05

func (e Poisson) laws() (upper, lower directions, err error) {
	if e.Adjacency == ReplaceOne {
		l := whole(opposed{e.Rate, e.Sigma})
		return same(l), same(l), nil
	}
	d := sampledPair(e.Rate, e.Sigma)
	return d, d, nil
}

// sampledPair returns the distributions of the loss for one sampled Gaussian release. Removing a
// record gives larger Rényi divergences than adding one (Mironov, Talwar, Zhang 2019, theorem 5).
func sampledPair(rate, sigma float64) directions {
	m := mixture{rate, sigma}
	return directions{remove: whole(m), add: whole(reversed{m}), removeFirst: true}
}

// WithoutReplacement is a release like [Poisson], but the sample has a fixed size and is drawn
// without replacement. Rate is the sample size divided by the number of records. When one record
// leaves the sample, another takes its place, and this changes the cost.
//
//   - Under add-remove, with the size of the sample public, the dominating pairs are
//     (1−q)N(0) + qN(2) against N(0), and the reverse (Zhu, Dong, Wang 2022, theorem 11).
//     These are the pairs of a Poisson sample with half the noise.
//   - Under replace-one the cost of each step is bounded by the cost of a pair. The profile of
//     this pair is the larger of the profiles for the two orders (proposition 30 of the same
//     paper). The bound is tight for one step. For several steps, the pairs for add-remove give
//     the lower bound.
//   - Under zero-out one record is replaced with a record of norm 0. The upper bound is the bound
//     for replace-one, and the lower bound is the bound for a Poisson sample.
type WithoutReplacement struct {
	Rate      float64 // sampled fraction of the records, in [0, 1]
	Sigma     float64
	Adjacency Adjacency
}

func (e WithoutReplacement) addTo(t *tally, times float64) error {
	if err := checkSampled(e.Rate, e.Sigma, e.Adjacency, t); err != nil {
		return fmt.Errorf("sampling without replacement: %w", err)
	}
	switch {
	case e.Rate == 0:
	case e.Rate == 1:
		factor := 2.0 // one record leaves the sample and another takes its place, so two terms of the sum change
		if e.Adjacency == ZeroOut {
			factor = 1
		}
		t.gaussian(factor/e.Sigma, up(factor/e.Sigma), times)
	default:
		t.sample(e, times)
	}
	return nil
}

func (e WithoutReplacement) laws() (upper, lower directions, err error) {
	if e.Adjacency == AddRemove {
		d := sampledPair(e.Rate, e.Sigma/2)
		return d, d, nil
	}
	l := replacedLaw(e.Rate, e.Sigma)
	lower = sampledPair(e.Rate, e.Sigma/2)
	if e.Adjacency == ZeroOut {
		lower = sampledPair(e.Rate, e.Sigma)
	}
	return same(l), lower, nil
}

// Permutation is one epoch of releases like [Poisson], one for each batch. Each record is in
// exactly one batch. The epoch costs as much as one release over all records, whether or not it is
// shuffled: below noise multipliers of about 0.6, shuffling does not amplify privacy (Chua et al.,
// "How Private are DP-SGD Implementations?", 2024). Add-remove is refused, because an additional
// record moves others to different batches.
type Permutation struct {
	Sigma     float64
	Adjacency Adjacency
}

func (e Permutation) addTo(t *tally, times float64) error {
	err := errors.Join(positive("the noise multiplier", e.Sigma), t.under(e.Adjacency))
	if e.Adjacency == AddRemove {
		err = errors.Join(err, fmt.Errorf("a permutation has no bound under %q, because an additional record moves others to other batches: use %q or %q", AddRemove, ReplaceOne, ZeroOut))
	}
	if err != nil {
		return fmt.Errorf("permutation event: %w", err)
	}
	mu := e.Adjacency.Factor() / e.Sigma
	t.gaussian(mu, up(mu), times)
	return nil
}
