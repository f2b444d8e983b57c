package scoring

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// An observation is a released sum of scores at a point.
type observation struct {
	theta []float64     // point at which the scores were computed
	sum   []float64     // sum of the scores, in coordinates of θ
	noise *mat.SymDense // covariance of the noise in sum
	units *mat.TriDense
	clip  float64
}

// A mixture holds the mean and the covariance of a posterior that is a mixture of normal
// distributions.
type mixture struct {
	mean []float64
	cov  *mat.SymDense
}

// observe returns the posterior given sums of scores and draws of the curvature.
//
// Near a point a, the score of all records is r − Λ(θ − a), with r normal with covariance Λ around
// zero at the true θ. A sum at θ_t observes r with the covariance
//
//	R_t = noise + n(xxᵀ + |L⁻¹x|²/d · LLᵀ) + ½ v (zzᵀ + zᵀ(θ_t − a)Λ),   z = Λ(θ_t − a),
//
// where x is what made-up records lose to the clip, n the number of sums, and the last term is
// the variance of Λ along the secant. With J = Σ R_t⁻¹ the observations are one, of r with
// precision J, and for every draw of Λ the posterior is normal in closed form:
//
//	V = (P + Λ(Λ + J⁻¹)⁻¹Λ)⁻¹,  mean = V(P m₀ + Λ(Λ + J⁻¹)⁻¹(r + Λa)).
//
// Without noise V is (P + Λ)⁻¹; with infinite noise it is the prior's. The covariance is that of
// the mixture of all draws. The mean is taken at the mean curvature.
func (s *State) observe(path []observation, at []float64, draws []*mat.SymDense) mixture {
	d := s.Dim()
	mean := meanOf(draws)
	made := s.madeUp.at(at, s.ridge(), nil)
	precision, pull := mat.NewSymDense(d, nil), make([]float64, d)
	for _, o := range path {
		lost := made.lost(o.clip, s.Records)
		x := apply(o.units, lost)
		away := minus(o.theta, at)
		z := apply(mean, away)
		n := float64(len(path))
		v := max(s.curvature.variance, 0.05) / 2
		w := inverse(plus(
			term{1, o.noise},
			term{n, outer(x)}, term{n * dot(lost, lost) / float64(d), congruent(o.units, nil)},
			term{v, outer(z)}, term{v * max(dot(z, away), 0), mean},
		))
		precision.AddSym(precision, w)
		for i, p := range apply(w, minus(o.sum, negated(z))) {
			pull[i] += p
		}
	}
	noise := inverse(precision) // the covariance J⁻¹
	score := apply(noise, pull) // the observation r
	out := mixture{cov: mat.NewSymDense(d, nil)}
	out.mean, _ = s.given(mean, noise, score, at)
	centres := make([][]float64, len(draws))
	average := make([]float64, d)
	for k, l := range draws {
		var cov *mat.SymDense
		centres[k], cov = s.given(l, noise, score, at)
		out.cov = plus(term{1, out.cov}, term{1 / float64(len(draws)), cov})
		for i, x := range centres[k] {
			average[i] += x / float64(len(draws))
		}
	}
	for _, c := range centres {
		out.cov.SymRankOne(out.cov, 1/float64(len(draws)), mat.NewVecDense(d, minus(c, average)))
	}
	return out
}

// given returns the posterior for one curvature.
func (s *State) given(lambda, noise *mat.SymDense, score, at []float64) ([]float64, *mat.SymDense) {
	gain := mat.NewDense(s.Dim(), s.Dim(), nil) // (Λ + J⁻¹)⁻¹Λ
	gain.Mul(mat.DenseCopyOf(inverse(plus(term{1, lambda}, term{1, noise}))), lambda)
	var bread mat.Dense
	bread.Mul(lambda, gain)
	cov := inverse(plus(term{1, symmetric(&bread)}, term{1, diagonal(s.Dim(), s.precision)}))
	right := apply(gain.T(), minus(score, negated(apply(lambda, at))))
	for i := range right {
		right[i] += s.precision(i) * s.mean[i]
	}
	return apply(cov, right), cov
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
