package gaussian

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Full returns the family of all Gaussians over R^d. The natural parameters are h1..hd, the
// precision times mean, and then the lower triangle of the precision Λ by rows: Λ11 Λ21 Λ22 Λ31 Λ32
// Λ33 ...
func Full(d int) Family { return full(d) }

type full int

// Packed returns the index of Λij in the natural parameters of Full(d). i and j count from 0,
// and i ≥ j.
func Packed(d, i, j int) int { return d + i*(i+1)/2 + j }

func (f full) Name() string { return "full" }
func (f full) Dim() int     { return int(f) }
func (f full) Size() int    { return int(f) * (int(f) + 3) / 2 }

func (f full) Precision() [][2]int {
	at := make([][2]int, 0, f.Size()-int(f))
	for i := range int(f) {
		for j := range i + 1 {
			at = append(at, [2]int{i, j})
		}
	}
	return at
}

// A root is the Cholesky factor L of a precision Λ = LLᵀ.
type root struct {
	d int
	l blas64.Triangular
}

func newRoot(d int) *root {
	return &root{d: d, l: blas64.Triangular{
		Uplo: blas.Lower, Diag: blas.NonUnit, N: d, Stride: d, Data: make([]float64, d*d),
	}}
}

func (r *root) factor(nat []float64) error {
	mustHave(len(nat), full(r.d).Size(), "natural parameters")
	for i, x := range nat {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%w: natural parameter %d is %g", ErrImproper, i+1, x)
		}
	}
	for i := range r.d {
		row := Packed(r.d, i, 0)
		copy(r.l.Data[i*r.d:], nat[row:row+i+1])
	}
	if _, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Lower, N: r.d, Stride: r.d, Data: r.l.Data}); !ok {
		return fmt.Errorf("%w: the precision is not positive definite", ErrImproper)
	}
	return nil
}

// half overwrites x with L⁻¹x.
func (r *root) half(x []float64) {
	blas64.Trsv(blas.NoTrans, r.l, blas64.Vector{N: r.d, Data: x, Inc: 1})
}

func (r *root) halfT(x []float64) {
	blas64.Trsv(blas.Trans, r.l, blas64.Vector{N: r.d, Data: x, Inc: 1})
}

// mean writes the mean of the Gaussian nat to dst. r must be the root of its precision.
func (r *root) mean(dst, nat []float64) error {
	mustHave(len(dst), r.d, "mean")
	copy(dst, nat)
	r.half(dst)
	r.halfT(dst)
	for _, x := range dst {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%w: the precision is singular to working accuracy", ErrImproper)
		}
	}
	return nil
}

func (r *root) logDet() float64 {
	var sum float64
	for i := range r.d {
		sum += math.Log(r.l.Data[i*r.d+i])
	}
	return 2 * sum
}

func (r *root) quadratic(x []float64) float64 {
	scaled := append([]float64(nil), x...)
	blas64.Trmv(blas.Trans, r.l, blas64.Vector{N: r.d, Data: scaled, Inc: 1})
	return floats.Dot(scaled, scaled)
}

func (f full) solve(nat []float64) (*root, []float64, error) {
	r := newRoot(int(f))
	if err := r.factor(nat); err != nil {
		return nil, nil, err
	}
	mean := make([]float64, f)
	if err := r.mean(mean, nat); err != nil {
		return nil, nil, err
	}
	return r, mean, nil
}

func (f full) Check(nat []float64) error { return newRoot(int(f)).factor(nat) }

func (f full) FromMoments(dst, mean []float64, cov mat.Symmetric) error {
	mustHave(len(dst), f.Size(), "natural parameters")
	mustHave(len(mean), int(f), "mean")
	mustHave(cov.SymmetricDim(), int(f), "covariance")
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		return fmt.Errorf("%w: the covariance is not positive definite", ErrImproper)
	}
	precision := mat.NewSymDense(int(f), nil)
	if err := chol.InverseTo(precision); err != nil {
		return fmt.Errorf("%w: the covariance is singular to working accuracy (%v)", ErrImproper, err)
	}
	h := mat.NewVecDense(int(f), dst[:f])
	h.MulVec(precision, mat.NewVecDense(int(f), mean))
	for k, at := range f.Precision() {
		dst[int(f)+k] = precision.At(at[0], at[1])
	}
	return nil
}

func (f full) Mean(dst, nat []float64) error { return f.Means()(dst, nat) }

func (f full) Means() func(dst, nat []float64) error {
	r := newRoot(int(f))
	return func(dst, nat []float64) error {
		if err := r.factor(nat); err != nil {
			return err
		}
		return r.mean(dst, nat)
	}
}

func (f full) Marginals(nat []float64) (mean, variance []float64, err error) {
	mean, cov, err := f.Moments(nat)
	if err != nil {
		return nil, nil, err
	}
	variance = make([]float64, f)
	for i := range variance {
		variance[i] = cov.At(i, i)
	}
	return mean, variance, nil
}

func (f full) Moments(nat []float64) ([]float64, *mat.SymDense, error) {
	r, mean, err := f.solve(nat)
	if err != nil {
		return nil, nil, err
	}
	// This loop computes column j of Λ⁻¹ = L⁻ᵀL⁻¹.
	cov := mat.NewSymDense(int(f), nil)
	column := make([]float64, f)
	for j := range int(f) {
		clear(column)
		column[j] = 1
		r.half(column)
		r.halfT(column)
		for i := j; i < int(f); i++ {
			cov.SetSym(i, j, column[i])
		}
	}
	return mean, cov, nil
}

// FullMoments returns the mean and the covariance of a Gaussian in Full(d). Up to rounding it
// equals [Family.Moments], but it is several times faster if d is large.
func FullMoments(d int, nat []float64) ([]float64, *mat.SymDense, error) {
	r, mean, err := full(d).solve(nat)
	if err != nil {
		return nil, nil, err
	}
	lapack64.Potri(r.l)
	cov := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			cov.SetSym(i, j, r.l.Data[i*d+j])
		}
	}
	return mean, cov, nil
}

func (f full) KL(p, q []float64) (float64, error) {
	rootP, meanP, err := f.solve(p)
	if err != nil {
		return 0, err
	}
	rootQ, meanQ, err := f.solve(q)
	if err != nil {
		return 0, err
	}
	floats.Sub(meanQ, meanP)
	// KL contains the trace of Λq Λp⁻¹. With Cholesky factors Lq and Lp of Λq and Λp, it is the sum
	// of the squared elements of Lp⁻¹Lq, so no inverse is needed.
	ratio := blas64.General{Rows: int(f), Cols: int(f), Stride: int(f), Data: make([]float64, f*f)}
	for i := range int(f) {
		copy(ratio.Data[i*int(f):], rootQ.l.Data[i*int(f):i*int(f)+i+1])
	}
	blas64.Trsm(blas.Left, blas.NoTrans, 1, rootP.l, ratio)
	trace := floats.Dot(ratio.Data, ratio.Data)
	return max(0, (trace-float64(f)+rootQ.quadratic(meanQ)+rootP.logDet()-rootQ.logDet())/2), nil
}

func (f full) Entropy(nat []float64) (float64, error) {
	r := newRoot(int(f))
	if err := r.factor(nat); err != nil {
		return 0, err
	}
	return (float64(f)*(1+logTwoPi) - r.logDet()) / 2, nil
}

func (f full) LogDensity(nat []float64) (func(theta []float64) float64, error) {
	r, mean, err := f.solve(nat)
	if err != nil {
		return nil, err
	}
	apart := make([]float64, f)
	return func(theta []float64) float64 {
		mustHave(len(theta), int(f), "theta")
		floats.SubTo(apart, mean, theta)
		return (r.logDet() - r.quadratic(apart) - float64(f)*logTwoPi) / 2
	}, nil
}

func (f full) Sampler(nat []float64) (Sampler, error) {
	r, mean, err := f.solve(nat)
	if err != nil {
		return nil, err
	}
	// With Λ = LLᵀ, L⁻ᵀz has covariance Λ⁻¹.
	return func(dst []float64, normal func() float64) {
		mustHave(len(dst), int(f), "draw")
		for i := range dst {
			dst[i] = normal()
		}
		r.halfT(dst)
		floats.Add(dst, mean)
	}, nil
}

func (f full) ProjectLikelihood(dst, likelihood, _ []float64) {
	mustHave(len(dst), f.Size(), "natural parameters")
	mustHave(len(likelihood), f.Size(), "likelihood")
	copy(dst, likelihood)
}
