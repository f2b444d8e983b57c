package scoring

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/hierarchy"
)

// An observation is a released sum of scores, together with the point where they were computed.
type observation struct {
	theta []float64     // point at which the scores were computed
	sum   []float64     // sum of the scores, in the coordinates of θ
	noise *mat.SymDense // covariance of the noise in the sum
	units *mat.TriDense // units in which scores were clipped (see [State.ridged])
	clip  float64
}

// mostPoints is the largest number of values that the hyperparameters take for one draw of the
// curvature. A few values suffice, because the result is averaged over draws, which use different
// values.
const mostPoints = 256

// A mixture is the mean and the covariance of a mixture of normal posteriors.
type mixture struct {
	mean []float64
	cov  *mat.SymDense
}

// observe returns the posterior given the released sums of scores in path and the draws of the
// curvature Λ. made holds the scores of made-up records at the point a.
//
// The sum of the scores of all records at θ is modelled as r − Λ(θ − a). At the true θ it is normal
// with mean 0 and covariance Λ. A released sum plus z_t is an observation of F_t r. z_t is minus the
// sum that is expected at the point θ_t if a is the true θ, and F_t is the share of the response to θ
// that the clip leaves ([State.released]). Its covariance is
//
//	R_t = noise + nC + ½ nv (z_t z_tᵀ + max(z_tᵀ(θ_t − a), 0)Λ)
//
// with these symbols:
//
//   - n is the number of sums.
//   - C is the covariance of the error in the expected effect of the clip ([sample.uncertainty]).
//   - v is the variance of the relative error of Λ between the points ([curvature.between]).
//
// The errors behind C and v are the same in all sums, so averaging does not reduce them.
// Therefore they are multiplied by n. All sums together are one observation of r with the precision
//
//	J = Σ F_tᵀ R_t⁻¹ F_t.
//
// For every draw of Λ, it gives a normal likelihood of θ with precision K and precision times mean
// h:
//
//	K = Λ(φΛ + J⁻¹)⁻¹Λ
//	h = Λ(φΛ + J⁻¹)⁻¹(r + Λa)
//
// φ is the variance of the scores divided by Λ. It is 1 unless counts vary more than in a Poisson
// regression (McCullagh and Nelder, "Generalized Linear Models" (1989), section 9.2). Without noise
// K is Λ/φ, and with infinite noise it is zero.
//
// Package hierarchy computes the posterior of θ and of the spreads of group effects. The returned
// mean is the posterior mean for the mean of the draws. The returned covariance is that of the
// mixture over all draws, widened by [mixture.widen].
func (s *State) observe(path []observation, a []float64, draws []*mat.SymDense, made *sample) mixture {
	d := s.Dim()
	mean := meanOf(draws)
	precision, pull := mat.NewSymDense(d, nil), make([]float64, d)
	for _, o := range path {
		away, n := minus(o.theta, a), float64(len(path))
		released, response := s.released(&o, a, mean)
		v := n * s.curvature.between() / 2
		w := inverse(plus(
			term{1, o.noise}, term{n, made.uncertainty(&o, s.Records)},
			term{v, outer(released)}, term{v * max(-dot(released, away), 0), mean},
		))
		precision.AddSym(precision, congruent(response.T(), w))
		for i, p := range apply(response.T(), apply(w, minus(o.sum, released))) {
			pull[i] += p
		}
	}
	noise := inverse(precision) // the covariance J⁻¹
	score := apply(noise, pull) // the observation r
	inflation := s.madeUp.inflation(a)
	likelihood := given(mean, noise, score, a, inflation)
	region, err := s.prior.Region(likelihood)
	if err != nil {
		panic(notFinite{})
	}
	var out mixture
	out.mean, out.cov = s.hierarchical(likelihood, region, s.prior.Points(), 0)
	if len(draws) == 1 {
		return out
	}
	size := len(out.mean)
	out.cov = mat.NewSymDense(size, nil)
	centres, average := make([][]float64, len(draws)), make([]float64, size)
	// squares holds the mean squared difference from out.mean, for each coordinate and each draw of
	// the margins.
	squares := make([][]float64, size)
	for i := range squares {
		squares[i] = make([]float64, len(draws)/sharedMargins)
	}
	inOrder(len(draws), func(k int) (m mixture) {
		m.mean, m.cov = s.hierarchical(given(draws[k], noise, score, a, inflation), region, min(s.prior.Points()/2, mostPoints), k)
		return m
	}, func(k int, m mixture) {
		centres[k] = m.mean
		out.cov = plus(term{1, out.cov}, term{1 / float64(len(draws)), m.cov})
		for i, x := range m.mean {
			average[i] += x / float64(len(draws))
			away := x - out.mean[i]
			squares[i][k/sharedMargins] += (m.cov.At(i, i) + away*away) / sharedMargins
		}
	})
	for _, c := range centres {
		out.cov.SymRankOne(out.cov, 1/float64(len(draws)), mat.NewVecDense(size, minus(c, average)))
	}
	_, prior := s.prior.Moments()
	out.widen(squares, prior)
	s.widenSpreads(&out, path, made, prior)
	return out
}

// These constants belong to [State.widenSpreads]. clipLoss says how much clipping reduces the
// response of a sum of scores to effects, relative to the share of made-up records that are
// clipped. mostLoss is the largest reduction that is assumed, also in [State.released].
const (
	clipLoss = 2.5
	mostLoss = 0.8
)

// widenSpreads adds the error due to clipped scores to the variances of the spreads of effects, up
// to the prior variance.
//
// Records of rare groups, and of groups with unusual effects, have long scores, from which a clip
// removes more. A sum of scores then depends less on the effects than the curvature says, by a
// share x that is not known well. The mean m of a spread may be too small by as much as m·x/(1 −
// x).
func (s *State) widenSpreads(m *mixture, path []observation, made *sample, prior *mat.SymDense) {
	norms := slices.Sorted(slices.Values(made.norms))
	var x float64
	for _, o := range path {
		x += clipLoss * beyond(norms, o.clip) / float64(len(path))
	}
	x = min(x, mostLoss)
	for i := s.Dim(); i < s.Dim()+s.spreads; i++ {
		missing := m.mean[i] * x / (1 - x)
		m.cov.SetSym(i, i, max(m.cov.At(i, i), min(m.cov.At(i, i)+missing*missing, prior.At(i, i))))
	}
}

// heldMargins is the fraction of draws of the margins for which widened intervals are correct
// ([mixture.widen]).
const heldMargins = 0.8

// widen widens intervals so that they hold for most draws of the margins, and not only on average.
// squares[i] has the mean squared error of m.mean[i] for each draw of the margins. A variance below
// the quantile heldMargins of these errors is raised to it, but at most to the prior variance.
// Correlations do not change.
//
// A study has only one set of margins. Most draws of this set may overstate the information about a
// coefficient. Errors in the elements of the curvature, in contrast, are many and average out
// within a study. Draws of the curvature with the same margins therefore count together.
func (m *mixture) widen(squares [][]float64, prior *mat.SymDense) {
	factor := make([]float64, len(squares))
	for i, s := range squares {
		slices.Sort(s)
		most := min(s[int(heldMargins*float64(len(s)-1))], prior.At(i, i))
		factor[i] = math.Sqrt(max(1, most/m.cov.At(i, i)))
	}
	for i, f := range factor {
		for j, g := range factor[:i+1] {
			m.cov.SetSym(i, j, f*g*m.cov.At(i, j))
		}
	}
}

// released predicts the sum of scores o, at its point θ_t, under the assumption that the true θ is
// a. lambda is the curvature Λ at a (see [State.observe]). If the population cannot compute the
// expected value, the sum is
//
//	−Λ(θ_t − a)
//
// where θ_t is the point of the sum, and the response is the identity matrix. Otherwise the sum of
// whole scores of records with independent columns is multiplied by ASA⁻¹, which corrects it by the
// released curvature (see [curvature]). The part that the clip removes is then subtracted. Without
// effects of groups, it is subtracted before the product, and the response is the identity matrix.
//
// The response is F = I − HΛ⁻¹, where HΔ is the part of the change of the sum that the clip removes
// if the true θ is a + Δ. The derivative of the mean of a function g of outcomes, with respect to
// the true θ, is the mean of g times the transposed score. H is therefore the matrix that the
// population returns. In a logistic regression, for example, the rare outcome has long scores. If
// one outcome in ten is rare and the clip halves its scores, F is about a half. Eigenvalues of
// A⁻¹HA⁻ᵀ, where AAᵀ is Λ for made-up records, are at least 0 and at most mostLoss.
func (s *State) released(o *observation, a []float64, lambda *mat.SymDense) (sum []float64, response *mat.Dense) {
	whole, removed, lost := s.madeUp.released(o, a)
	one := diagonal(s.Dim(), func(int) float64 { return 1 })
	if whole == nil {
		return negated(apply(lambda, minus(o.theta, a))), full(one)
	}
	root := s.guess(a)(nil)
	back := solved(root)
	if !slices.Contains(s.grouped, true) {
		return apply(root, apply(s.curvature.seen, apply(back, minus(whole, removed)))), full(one)
	}
	vectors, values := decomposed(symmetric(times(times(back, lost), back)))
	kept := congruent(vectors, diagonal(s.Dim(), func(i int) float64 { return 1 - min(max(values[i], 0), mostLoss) }))
	return minus(apply(root, apply(s.curvature.seen, apply(back, whole))), removed), times(times(root, kept), transposed(back))
}

// hierarchical returns the posterior of θ and of the spreads of group effects.
func (p *Problem) hierarchical(l *hierarchy.Likelihood, region hierarchy.Region, points, shift int) ([]float64, *mat.SymDense) {
	mean, cov, err := p.prior.Posterior(l, region, points, shift)
	if err != nil {
		panic(notFinite{})
	}
	return mean, cov
}

// given returns the normal likelihood of θ for the curvature lambda. Formulas and symbols are those
// of [State.observe]. score is the observation of r at the point a, noise is its covariance J⁻¹,
// and inflation is φ.
func given(lambda, noise *mat.SymDense, score, a []float64, inflation float64) *hierarchy.Likelihood {
	root := solved(cholesky(plus(term{inflation, lambda}, term{1, noise})))
	half := times(lambda, root) // half·halfᵀ is Λ(φΛ + J⁻¹)⁻¹Λ
	return &hierarchy.Likelihood{
		Precision: congruent(half, nil),
		Linear:    apply(half, apply(root, minus(score, negated(apply(lambda, a))))),
	}
}

func negated(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = -x
	}
	return out
}

// finite reports whether the mixture is a proper distribution.
func (m *mixture) finite() bool {
	for i, x := range m.mean {
		if math.IsNaN(x) || math.IsInf(x, 0) || !(m.cov.At(i, i) > 0) || math.IsInf(m.cov.At(i, i), 1) {
			return false
		}
	}
	return true
}
