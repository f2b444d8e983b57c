package ep

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// slopes sets g and h to the gradient of log Z in the predictors' means and to minus the Hessian:
//
//	g = R⁻ᵀE[z]
//	h = R⁻ᵀ(I − Cov[z])R⁻¹,
//
// where R is the root of the predictors' covariance, and z is tilted (see [tilts]).
func (t *Regression) slopes() {
	k := len(t.mean)
	copy(t.g, t.many.first)
	for i, c := range t.many.second {
		t.inner[i] = -c
	}
	for a := range k {
		t.inner[a*k+a]++
	}
	t.unscale()
}

// natural sets g and h to the record's site, a Gaussian function of the predictors minus their
// cavity means. g is the precision times mean, and h the precision:
//
//	g = R⁻ᵀCov[z]⁻¹E[z]
//	h = R⁻ᵀ(Cov[z]⁻¹ − I)R⁻¹,
//
// where R is the root of the predictors' covariance, and z is tilted (see [tilts]).
func (t *Regression) natural() {
	k := len(t.mean)
	copy(t.inner, t.many.second)
	sym := blas64.Symmetric{Uplo: blas.Lower, N: k, Stride: k, Data: t.inner}
	root, ok := lapack64.Potrf(sym)
	if ok {
		_, ok = lapack64.Potri(root)
	}
	if !ok {
		fillNaN(t.g)
		fillNaN(t.h)
		return
	}
	for a := range k {
		for b := range a {
			t.inner[b*k+a] = t.inner[a*k+b]
		}
	}
	for a := range k {
		t.g[a] = 0
		for b, z := range t.many.first {
			t.g[a] += t.inner[a*k+b] * z
		}
	}
	for a := range k {
		t.inner[a*k+a]--
	}
	t.unscale()
}

// unscale multiplies g by R⁻ᵀ, and sets h to R⁻ᵀ·inner·R⁻¹. If a predictor is a linear function of
// earlier ones under the cavity, its diagonal element in R is zero, and its elements in g and h
// become zero.
func (t *Regression) unscale() {
	k := len(t.mean)
	t.transposed(t.g)
	for a := range k {
		row := t.inner[a*k : (a+1)*k]
		t.transposed(row) // row a of inner·R⁻¹
	}
	for a := range k {
		for b := range k {
			t.twin[a*k+b] = t.inner[b*k+a]
		}
	}
	for a := range k {
		t.transposed(t.twin[a*k : (a+1)*k])
	}
	for a := range k {
		for b := range k {
			t.h[a*k+b] = t.twin[b*k+a]
		}
	}
}

func (t *Regression) transposed(x []float64) {
	k := len(x)
	for a := k - 1; a >= 0; a-- {
		sum := x[a]
		for b := a + 1; b < k; b++ {
			sum -= t.root[b*k+a] * x[b]
		}
		x[a] = 0
		if pivot := t.root[a*k+a]; pivot > 0 {
			x[a] = sum / pivot
		}
	}
}

// scatter adds Aᵀg and AᵀhA to dst, where A has the record's rows of the design. place(i, j), for j
// ≤ i, returns the index in dst of element (i, j) of the precision, or a negative number if there
// is none.
func (t *Regression) scatter(dst []float64, record int, place func(i, j int) int) {
	k := len(t.mean)
	for a := range k {
		indexA, valueA := t.of.Design().Row(record*k + a)
		for n, i := range indexA {
			dst[i] += t.g[a] * valueA[n] / t.power
		}
		for b := range k {
			indexB, valueB := t.of.Design().Row(record*k + b)
			for n, i := range indexA {
				for m, j := range indexB {
					if j > i {
						break
					}
					if at := place(int(i), int(j)); at >= 0 {
						dst[at] += t.h[a*k+b] * valueA[n] * valueB[m] * t.weight / t.power
					}
				}
			}
		}
	}
}

func fillNaN(v []float64) {
	for i := range v {
		v[i] = math.NaN()
	}
}
