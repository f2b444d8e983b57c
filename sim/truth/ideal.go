package truth

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/hierarchy"
)

// clips are the quantiles that the ideal release tries: its clip is one of these quantiles of the
// norms.
var clips = []float64{.5, .7, .85, .95, .99, 1}

// ideal returns the posterior variances after one ideal release, which needs knowledge of the
// pooled fit: a sum of clipped scores at the mode, in units of the pooled precision. The noise of
// every element has the sd noise·clip, and the curvature is known. The variances are the diagonal
// of
//
//	(P + Λ(Λ + R)⁻¹Λ)⁻¹
//
// Here P is the precision of the prior, Λ is the information of the records, and R is the
// covariance of the noise plus bbᵀ, where b is the sum of the parts that clipping removes. If the
// prior is weak, these variances are the pooled variance plus the variance of the release. The clip
// is the best of six.
func (f *pooled) ideal(noise float64) ([]float64, error) {
	d := len(f.mode)
	var root mat.Cholesky
	if !root.Factorize(f.precision) {
		return nil, errors.New("the pooled precision is not positive definite")
	}
	var lower mat.TriDense
	root.LTo(&lower)
	var norms []float64
	if err := f.eachContribution(&lower, func(s []float64) { norms = append(norms, length(s)) }); err != nil {
		return nil, err
	}
	bias, clip := make([][]float64, len(clips)), clipsOf(norms)
	for k := range bias {
		bias[k] = make([]float64, d)
	}
	next := 0
	err := f.eachContribution(&lower, func(s []float64) {
		for k, c := range clip {
			if norms[next] > c {
				for i, x := range s {
					bias[k][i] += x * (1 - c/norms[next])
				}
			}
		}
		next++
	})
	if err != nil {
		return nil, err
	}
	weights := make([]float64, d)
	for i := range weights {
		weights[i] = 1 / f.cov.At(i, i)
	}
	return best(clip, weights, func(k int) ([]float64, error) { return f.afterRelease(&lower, noise*clip[k], bias[k]) })
}

// clipsOf returns the quantiles of norms that are candidates for the clip.
func clipsOf(norms []float64) (clip []float64) {
	sorted := slices.Sorted(slices.Values(norms))
	for _, q := range clips {
		clip = append(clip, sorted[min(int(q*float64(len(sorted))), len(sorted)-1)])
	}
	return clip
}

// best returns the variances whose weighted sum is smallest, over releases with each of the clips.
// after returns the variances with clip number k.
func best(clip, weights []float64, after func(k int) ([]float64, error)) (best []float64, err error) {
	least := math.Inf(1)
	for k := range clip {
		variance, err := after(k)
		if err != nil {
			return nil, err
		}
		var relative float64
		for i, v := range variance {
			relative += v * weights[i]
		}
		if relative < least {
			best, least = variance, relative
		}
	}
	return best, nil
}

// eachContribution calls do with L⁻¹·score for each record. L is lower, and score is the gradient
// of the record's log likelihood at the mode.
func (f *pooled) eachContribution(lower *mat.TriDense, do func(s []float64)) error {
	for _, c := range f.clients {
		err := c.EachGradient(f.mode, func(score []float64) error {
			v := mat.NewVecDense(len(score), slices.Clone(score))
			if err := v.SolveVec(lower, v); err != nil {
				return err
			}
			do(v.RawVector().Data)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// afterRelease returns the posterior variances after a release of the sum of the vectors L⁻¹·score,
// where L = lower is the Cholesky root of the pooled precision. The noise of each element has the
// given sd. bias is the part of the sum that is lost by clipping.
func (f *pooled) afterRelease(lower *mat.TriDense, sd float64, bias []float64) ([]float64, error) {
	d := len(bias)
	var covariance, unit mat.Dense // R
	b := mat.NewVecDense(d, nil)
	b.MulVec(lower, mat.NewVecDense(d, bias))
	unit.Mul(lower, lower.T())
	unit.Scale(sd*sd, &unit)
	covariance.Outer(1, b, b)
	covariance.Add(&covariance, &unit)
	covariance.Add(&covariance, f.information)
	var weighted, seen mat.Dense
	if err := unlessPoor(weighted.Solve(&covariance, f.information)); err != nil {
		return nil, err
	}
	seen.Mul(f.information, &weighted)
	if f.groups != nil {
		return f.averaged(&seen)
	}
	precision := symmetric(&seen)
	for i, p := range f.prior {
		precision.SetSym(i, i, precision.At(i, i)+p)
	}
	return diagonalOfInverse(precision)
}

// unlessPoor returns nil if err only warns that a matrix is ill-conditioned, and otherwise err.
func unlessPoor(err error) error {
	if poor := mat.Condition(0); errors.As(err, &poor) && !math.IsInf(float64(poor), 1) {
		return nil
	}
	return err
}

func symmetric(a *mat.Dense) *mat.SymDense {
	d, _ := a.Dims()
	s := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			s.SetSym(i, j, (a.At(i, j)+a.At(j, i))/2)
		}
	}
	return s
}

func diagonalOfInverse(precision *mat.SymDense) ([]float64, error) {
	d := precision.SymmetricDim()
	var root mat.Cholesky
	inverse := mat.NewSymDense(d, nil)
	if !root.Factorize(precision) || unlessPoor(root.InverseTo(inverse)) != nil {
		return nil, errors.New("the ideal precision is not positive definite")
	}
	variance := make([]float64, d)
	for i := range variance {
		variance[i] = inverse.At(i, i)
	}
	return variance, nil
}

// averaged returns the posterior variances of a model with groups, averaged over the posterior of
// the spreads. seen is the information in a release.
func (f *pooled) averaged(seen *mat.Dense) ([]float64, error) {
	d := len(f.groups.Mean)
	l := &hierarchy.Likelihood{Precision: mat.NewSymDense(d, nil), Linear: make([]float64, d)}
	for i, a := range f.order[:d] {
		for j, b := range f.order[:d] {
			both := (seen.At(a, b) + seen.At(b, a)) / 2
			l.Linear[i] += both * f.mode[b]
			if j >= i {
				l.Precision.SetSym(i, j, both)
			}
		}
	}
	region, err := f.groups.Region(l)
	if err != nil {
		return nil, err
	}
	_, cov, err := f.groups.Posterior(l, region, 4*f.groups.Points(), 0)
	if err != nil {
		return nil, err
	}
	variance := make([]float64, len(f.order))
	for i, a := range f.order {
		variance[a] = cov.At(i, i)
	}
	return variance, nil
}

func length(x []float64) float64 {
	var squares float64
	for _, v := range x {
		squares += v * v
	}
	return math.Sqrt(squares)
}
