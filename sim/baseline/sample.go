package baseline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/accountant"
	"fedpvi/dpmech/seeded"
	"fedpvi/sim/chain"
)

// weight returns the power w of the likelihood for which one exact sample from the tempered
// posterior satisfies pure ε-differential privacy. The log likelihood ℓ_i of each record is clipped
// to [−B, 0]:
//
//	density(θ) ∝ prior(θ) · exp(w Σ_i max(ℓ_i(θ), −B)).
//
// Adding a record multiplies the density before normalisation by a number in [e^(−wB), 1], and the
// normaliser by another such number, so that ε = wB. If a record is replaced, both numbers are in
// [e^(−wB), e^(wB)], and ε = 2wB (Wang, Fienberg and Smola 2015, theorem 1, which has 4B for |ℓ| ≤
// B). w is at most 1, the full weight of the likelihood.
func weight(epsilon, bound float64, adjacency accountant.Adjacency) float64 {
	if adjacency == accountant.ReplaceOne {
		epsilon /= 2
	}
	return min(1, epsilon/bound)
}

// links is the length of the Markov chain.
const links = 5000

// oneSample returns the last state of a long Metropolis chain for the tempered posterior. The chain
// starts at the mean of the pooled fit, and its proposals use the curvature there. No privacy is
// proven, because nobody knows how far the last state is from an exact sample.
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
	uniform := rand.New(seeded.Stream(seed, purpose, 4))
	density := r.tempered(w, target.Clip)
	now := density(theta)
	scale := 2.38 / math.Sqrt(float64(d)) // optimal step size for d coordinates (Roberts, Gelman and Gilks 1997)
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
	return theta, slices.Repeat([]float64{pointSD}, d), nil
}

// tempered returns the log density of the tempered posterior, up to a constant.
func (r *records) tempered(w, bound float64) func(theta []float64) float64 {
	each, slope := make([]float64, r.all.Rows()), make([]float64, r.program.Dim())
	return func(theta []float64) float64 {
		r.program.LogDensities(each, theta, r.table)
		var sum float64
		for _, l := range each {
			if !(l >= -bound) { // also true if l is NaN
				l = -bound
			}
			sum += l
		}
		return r.program.LogPrior(theta, slope) + w*sum
	}
}

// proposal returns an upper triangular U with UᵀU = P, where P is the precision of the prior minus
// w times the Hessian of the log likelihood at the given point.
func (r *records) proposal(at []float64, w float64) (*mat.TriDense, error) {
	packed := make([]float64, len(at)*(len(at)+1)/2)
	if err := r.all.Hessian(packed, at); err != nil {
		return nil, err
	}
	return chain.Precision(r.fit, packed, w)
}
