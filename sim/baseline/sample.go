package baseline

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/sim/chain"
)

func newRand(s *dpmech.Stream) *rand.Rand { return rand.New(s) }

// weight returns the power to which the likelihood is raised so that one exact sample
// from the posterior has pure ε. With a record's log likelihood kept within [−B, 0],
//
//	density(θ) ∝ prior(θ) · exp(w Σ_i max(ℓ_i(θ), −B)),
//
// adding a record multiplies the density by a number in [e^(−wB), 1] and the normaliser
// by another, so that ε = wB; replacing one, both numbers are in [e^(−wB), e^(wB)], and
// ε = 2wB (Wang, Fienberg and Smola 2015, theorem 1, whose 4B is for |ℓ| ≤ B). The
// likelihood itself is enough: w is at most 1.
func weight(epsilon, bound float64, adjacency accountant.Adjacency) float64 {
	if adjacency == accountant.ReplaceOne {
		epsilon /= 2
	}
	return min(1, epsilon/bound)
}

// links is the number of states, called links, of the Markov chain.
const links = 5000

// oneSample returns the last link of a long Metropolis chain that targets the tempered posterior.
// The chain starts at the mean of the pooled fit, and its proposals use the curvature at that mean.
// An exact sample would be private. The distance between the distribution of the last link and the
// tempered posterior is unknown, so nothing is proven.
func (r *records) oneSample(seed uint64) (mean, sd []float64, err error) {
	target := r.play.Federation.Protocol.Study().Privacy
	at, _, err := r.play.Reference.Moments()
	if err != nil {
		return nil, nil, err
	}
	w := weight(target.Epsilon, target.Clip, target.Adjacency)
	proposal, err := r.proposal(at, w)
	if err != nil {
		return nil, nil, err
	}
	d := len(at)
	theta, next := append([]float64(nil), at...), make([]float64, d)
	z, normal := mat.NewVecDense(d, nil), normals(seed, 3)
	step := mat.NewVecDense(d, nil)
	uniform := newRand(seeded.Stream(seed, purpose, 4))
	density := r.tempered(w, target.Clip)
	now := density(theta)
	scale := 2.38 / math.Sqrt(float64(d)) // Roberts, Gelman and Gilks 1997
	for range links {
		normal(z.RawVector().Data)
		if err := step.SolveVec(proposal, z); err != nil {
			return nil, nil, fmt.Errorf("proposal: %w", err)
		}
		for i := range next {
			next[i] = theta[i] + scale*step.AtVec(i)
		}
		if there := density(next); math.Log(uniform.Float64()) < there-now {
			now, theta, next = there, next, theta
		}
	}
	sd = make([]float64, d)
	for i := range sd {
		sd[i] = pointSD
	}
	return theta, sd, nil
}

// tempered returns the log density of the tempered posterior, up to a constant.
func (r *records) tempered(w, bound float64) func(theta []float64) float64 {
	each, slope := make([]float64, r.all.Rows()), make([]float64, r.program.Dim())
	return func(theta []float64) float64 {
		r.program.LogDensities(each, theta, r.table)
		var sum float64
		for _, l := range each {
			if !(l >= -bound) { // a value that is not finite counts as the lowest
				l = -bound
			}
			sum += l
		}
		return r.program.LogPrior(theta, slope) + w*sum
	}
}

// proposal returns U with UᵀU the precision of the prior and the tempered curvature of
// the log likelihood at a point.
func (r *records) proposal(at []float64, w float64) (*mat.TriDense, error) {
	packed := make([]float64, len(at)*(len(at)+1)/2)
	if err := r.all.Hessian(packed, at, nil); err != nil {
		return nil, err
	}
	return chain.Precision(r.fit, packed, w)
}
