package truth

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

// idealOfClients returns the variances of an ideal release if the privacy unit is the client: the
// posterior variances of the mean of θ in the population from which the clients are drawn. The
// covariance of θ between clients is known: it is diagonal, with the variances in between, which is
// nil if clients do not differ.
//
// Let s and Λ be the score and the information of a client at the pooled mode, and let Σ be the
// covariance of the client's own effect. Once this effect is integrated out, the score and the
// information are
//
//	g = (I + ΛΣ)⁻¹s    W = (I + ΛΣ)⁻¹Λ
//
// The release is a sum of clipped scores in units of the precision without noise: the precision P
// of the prior plus the sum of W over the clients. The scores are evaluated at a draw from the
// posterior with this precision, because even an ideal method knows the mode only up to the
// uncertainty of the records. A clipped client adds to the information in proportion to ρ, the
// slope of the clip averaged over directions:
//
//	ρ = (1 − 1/d)·C/n
//
// Here d is the number of coordinates, C is the clip, and n > C is the root mean square norm of the
// client's score. For a client that is not clipped, ρ is 1. The variances are the diagonal of
//
//	(P + H(V + R)⁻¹H)⁻¹    with the sums over clients H = Σ ρW and V = Σ ρ²W
//
// R is the covariance of the noise plus bbᵀ, where b is the bias of clipping, as in [pooled.ideal].
// The clip is the best of six.
func (f *pooled) idealOfClients(noise float64, between []float64) ([]float64, error) {
	d := len(f.mode)
	all, err := f.marginal(between)
	if err != nil {
		return nil, err
	}
	prior := mat.NewSymDense(d, nil)
	for i, p := range f.prior {
		prior.SetSym(i, i, p)
	}
	precision := mat.NewSymDense(d, nil)
	precision.CopySym(prior)
	for _, c := range all {
		precision.AddSym(precision, c.information)
	}
	var root mat.Cholesky
	if !root.Factorize(precision) {
		return nil, errors.New("the precision of the population is not positive definite")
	}
	var lower mat.TriDense
	root.LTo(&lower)
	var norms []float64
	for _, c := range all {
		if err := c.measure(&lower); err != nil {
			return nil, err
		}
		norms = append(norms, c.norm)
	}
	weights := make([]float64, d)
	for i := range weights {
		weights[i] = precision.At(i, i)
	}
	clip := clipsOf(norms)
	return best(clip, weights, func(k int) ([]float64, error) { return afterClips(all, clip[k], noise*clip[k], prior, &lower) })
}

// A contributor is a client in the ideal release.
type contributor struct {
	score       *mat.VecDense
	information *mat.SymDense
	white       *mat.VecDense // the score in units of the precision
	// root mean square norm of score at a draw from the posterior without noise, in units of the
	// precision
	norm float64
}

// marginal returns each client's score and information at the pooled mode. If between is not nil,
// it has the variances of the client's own effect, which is integrated out.
func (f *pooled) marginal(between []float64) ([]*contributor, error) {
	d := len(f.mode)
	var all []*contributor
	for _, c := range f.clients {
		gradient, information, err := c.Score(f.mode)
		if err != nil {
			return nil, err
		}
		own := &contributor{score: mat.NewVecDense(d, gradient), information: information}
		if between != nil {
			var shrink, w mat.Dense
			shrink.Mul(information, mat.NewDiagDense(d, between))
			for i := range d {
				shrink.Set(i, i, shrink.At(i, i)+1)
			}
			g := mat.NewVecDense(d, nil)
			if err := errors.Join(unlessPoor(g.SolveVec(&shrink, own.score)), unlessPoor(w.Solve(&shrink, information))); err != nil {
				return nil, err
			}
			own.score, own.information = g, symmetric(&w)
		}
		all = append(all, own)
	}
	return all, nil
}

// measure sets c.white and c.norm. lower is L, the Cholesky root of the precision. The expected
// squared norm is
//
//	‖L⁻¹g‖² + ‖L⁻¹WL⁻ᵀ‖²
func (c *contributor) measure(lower *mat.TriDense) error {
	c.white = mat.NewVecDense(c.score.Len(), nil)
	var half, whole mat.Dense
	err := errors.Join(unlessPoor(c.white.SolveVec(lower, c.score)), unlessPoor(half.Solve(lower, c.information)))
	if err == nil {
		err = unlessPoor(whole.Solve(lower, half.T()))
	}
	c.norm = math.Hypot(mat.Norm(c.white, 2), mat.Norm(&whole, 2))
	return err
}

// afterClips returns the posterior variances after a release. clip and the noise sd are in units of
// the precision, whose Cholesky root is lower.
func afterClips(all []*contributor, clip, sd float64, prior *mat.SymDense, lower *mat.TriDense) ([]float64, error) {
	d := prior.SymmetricDim()
	h, variance, bias := mat.NewDense(d, d, nil), mat.NewDense(d, d, nil), mat.NewVecDense(d, nil)
	for _, c := range all {
		slope := 1.0
		if c.norm > clip {
			slope = (1 - 1/float64(d)) * clip / c.norm
		}
		var part mat.Dense
		part.Scale(slope, c.information)
		h.Add(h, &part)
		part.Scale(slope, &part)
		variance.Add(variance, &part)
		if length := mat.Norm(c.white, 2); length > clip {
			bias.AddScaledVec(bias, 1-clip/length, c.white)
		}
	}
	var unit, weighted, seen mat.Dense
	bias.MulVec(lower, bias)
	unit.Mul(lower, lower.T())
	unit.Scale(sd*sd, &unit)
	variance.Add(variance, &unit)
	unit.Outer(1, bias, bias)
	variance.Add(variance, &unit)
	if err := unlessPoor(weighted.Solve(variance, h)); err != nil {
		return nil, err
	}
	seen.Mul(h, &weighted)
	precision := symmetric(&seen)
	precision.AddSym(precision, prior)
	return diagonalOfInverse(precision)
}
