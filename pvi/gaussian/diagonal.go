package gaussian

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

const logTwoPi = 1.837877066409345483560659472811235279722794947275566825634303080965531391854520

// Diagonal returns the family of Gaussians over R^d with independent coordinates. The natural
// parameters are h1..hd, the precisions times means, and then Λ11..Λdd, the precisions.
func Diagonal(d int) Family { return diagonal(d) }

type diagonal int

// Independent reports whether a family is [Diagonal]. Each coordinate then depends only on its own
// two natural parameters.
func Independent(f Family) bool {
	_, so := f.(diagonal)
	return so
}

func (f diagonal) Name() string { return "diagonal" }
func (f diagonal) Dim() int     { return int(f) }
func (f diagonal) Size() int    { return 2 * int(f) }

func (f diagonal) Precision() [][2]int {
	at := make([][2]int, f)
	for i := range at {
		at[i] = [2]int{i, i}
	}
	return at
}

func (f diagonal) split(nat []float64) (h, precision []float64) {
	mustHave(len(nat), f.Size(), "natural parameters")
	return nat[:f], nat[f:]
}

func (f diagonal) Check(nat []float64) error {
	h, precision := f.split(nat)
	for i := range h {
		if err := CheckCoordinate(i, h[i], precision[i]); err != nil {
			return err
		}
	}
	return nil
}

// CheckCoordinate checks one coordinate of a [Diagonal] family, counted from 0, as Check does for
// all.
func CheckCoordinate(i int, h, precision float64) error {
	if math.IsNaN(h) || math.IsInf(h, 0) {
		return fmt.Errorf("%w: precision times mean of coordinate %d is %g", ErrImproper, i+1, h)
	}
	if !(precision > 0) || math.IsInf(precision, 0) {
		return fmt.Errorf("%w: precision of coordinate %d is %g", ErrImproper, i+1, precision)
	}
	return nil
}

func (f diagonal) FromMoments(dst, mean []float64, cov mat.Symmetric) error {
	h, precision := f.split(dst)
	mustHave(len(mean), int(f), "mean")
	mustHave(cov.SymmetricDim(), int(f), "covariance")
	for i := range h {
		precision[i] = 1 / cov.At(i, i)
		h[i] = precision[i] * mean[i]
	}
	return f.Check(dst)
}

func (f diagonal) Mean(dst, nat []float64) error {
	mustHave(len(dst), int(f), "mean")
	if err := f.Check(nat); err != nil {
		return err
	}
	h, precision := f.split(nat)
	for i := range dst {
		dst[i] = h[i] / precision[i]
	}
	return nil
}

func (f diagonal) Means() func(dst, nat []float64) error { return f.Mean }

func (f diagonal) Marginals(nat []float64) (mean, variance []float64, err error) {
	mean, variance = make([]float64, f), make([]float64, f)
	if err := f.Mean(mean, nat); err != nil {
		return nil, nil, err
	}
	_, precision := f.split(nat)
	for i, p := range precision {
		variance[i] = 1 / p
	}
	return mean, variance, nil
}

func (f diagonal) Moments(nat []float64) ([]float64, *mat.SymDense, error) {
	mean, variance, err := f.Marginals(nat)
	if err != nil {
		return nil, nil, err
	}
	cov := mat.NewSymDense(int(f), nil)
	for i, v := range variance {
		cov.SetSym(i, i, v)
	}
	return mean, cov, nil
}

func (f diagonal) KL(p, q []float64) (float64, error) {
	if err := f.Check(p); err != nil {
		return 0, err
	}
	if err := f.Check(q); err != nil {
		return 0, err
	}
	hp, pp := f.split(p)
	hq, pq := f.split(q)
	var kl float64
	for i := range hp {
		ratio := pq[i] / pp[i]
		apart := hp[i]/pp[i] - hq[i]/pq[i]
		kl += (ratio - 1 - math.Log(ratio) + apart*apart*pq[i]) / 2
	}
	return max(0, kl), nil
}

func (f diagonal) Entropy(nat []float64) (float64, error) {
	if err := f.Check(nat); err != nil {
		return 0, err
	}
	_, precision := f.split(nat)
	entropy := float64(f) * (1 + logTwoPi) / 2
	for _, p := range precision {
		entropy -= math.Log(p) / 2
	}
	return entropy, nil
}

func (f diagonal) LogDensity(nat []float64) (func(theta []float64) float64, error) {
	if err := f.Check(nat); err != nil {
		return nil, err
	}
	h, precision := f.split(nat)
	return func(theta []float64) float64 {
		mustHave(len(theta), int(f), "theta")
		log := -float64(f) * logTwoPi / 2
		for i, p := range precision {
			apart := theta[i] - h[i]/p
			log += (math.Log(p) - apart*apart*p) / 2
		}
		return log
	}, nil
}

func (f diagonal) Sampler(nat []float64) (Sampler, error) {
	mean := make([]float64, f)
	if err := f.Mean(mean, nat); err != nil {
		return nil, err
	}
	_, precision := f.split(nat)
	sd := make([]float64, f)
	for i, p := range precision {
		sd[i] = 1 / math.Sqrt(p)
	}
	return func(dst []float64, normal func() float64) {
		mustHave(len(dst), int(f), "draw")
		for i := range dst {
			dst[i] = mean[i] + sd[i]*normal()
		}
	}, nil
}

func (f diagonal) ProjectLikelihood(dst, likelihood, mean []float64) {
	h, precision := f.split(dst)
	d := int(f)
	mustHave(len(likelihood), full(d).Size(), "likelihood")
	mustHave(len(mean), d, "mean")
	copy(h, likelihood)
	for i := range d {
		precision[i] = likelihood[Packed(d, i, i)]
		for j := range i {
			s := likelihood[Packed(d, i, j)]
			h[i] -= s * mean[j]
			h[j] -= s * mean[i]
		}
	}
}
