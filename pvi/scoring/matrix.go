package scoring

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// cholesky returns the lower Cholesky root of a positive definite matrix. If rounding made the
// matrix indefinite, it returns the root of the matrix with a slightly larger diagonal.
func cholesky(a *mat.SymDense) *mat.TriDense {
	var c mat.Cholesky
	d := a.SymmetricDim()
	for jitter := 0.0; !c.Factorize(a); jitter = max(10*jitter, 1e-14) {
		if jitter > 1 || math.IsNaN(mat.Trace(a)) {
			panic(notFinite{})
		}
		b := mat.NewSymDense(d, nil)
		b.CopySym(a)
		for i := range d {
			b.SetSym(i, i, a.At(i, i)+jitter*(mat.Trace(a)/float64(d)))
		}
		a = b
	}
	l := mat.NewTriDense(d, mat.Lower, nil)
	c.LTo(l)
	return l
}

// notFinite is the value with which a computation panics if its numbers overflow. [State.Step]
// turns this panic into an error.
type notFinite struct{}

// A whitening has the columns of the lower triangular matrix L⁻¹, each from the diagonal down. It
// multiplies vectors by L⁻¹. Most regressors of a record are often zero. It is then faster to multiply the
// nonzero elements by their columns than to solve a system with L.
type whitening [][]float64

func newWhitening(l *mat.TriDense) whitening {
	inverse := solved(l)
	d, _ := l.Dims()
	w := make(whitening, d)
	for j := range w {
		for i := j; i < d; i++ {
			w[j] = append(w[j], inverse.At(i, j))
		}
	}
	return w
}

// apply replaces v by L⁻¹v, where L is the matrix that the whitening inverts. scratch must have the
// length of v.
func (w whitening) apply(v, scratch []float64) {
	clear(scratch)
	for j, x := range v {
		if x == 0 {
			continue
		}
		floats.AddScaled(scratch[j:], x, w[j])
	}
	copy(v, scratch)
}

// inverse returns A⁻¹.
func inverse(a *mat.SymDense) *mat.SymDense {
	inv := mat.NewTriDense(a.SymmetricDim(), mat.Lower, nil)
	if err := inv.InverseTri(cholesky(a)); err != nil && math.IsInf(float64(err.(mat.Condition)), 1) {
		panic(notFinite{})
	}
	return congruent(inv.T(), nil)
}

// congruent returns M S Mᵀ, or M Mᵀ if S is nil.
func congruent(m mat.Matrix, s mat.Symmetric) *mat.SymDense {
	dense := mat.DenseCopyOf(m) // gonum multiplies matrices of other types slowly
	half := dense
	if s != nil {
		half = new(mat.Dense)
		half.Mul(dense, mat.DenseCopyOf(s))
	}
	var whole mat.Dense
	whole.Mul(half, dense.T())
	return symmetric(&whole)
}

// symmetric returns (A + Aᵀ)/2.
func symmetric(a *mat.Dense) *mat.SymDense {
	d, _ := a.Dims()
	s := mat.NewSymDense(d, nil)
	from, to := a.RawMatrix(), s.RawSymmetric()
	for i := range d {
		for j := i; j < d; j++ {
			to.Data[i*to.Stride+j] = (from.Data[i*from.Stride+j] + from.Data[j*from.Stride+i]) / 2
		}
	}
	return s
}

// plus returns Σ w_i A_i.
func plus(terms ...term) *mat.SymDense {
	d := terms[0].of.SymmetricDim()
	sum := mat.NewSymDense(d, nil)
	to := sum.RawSymmetric()
	for _, t := range terms {
		of, ok := t.of.(mat.RawSymmetricer)
		if !ok { // a diagonal matrix
			for i := range d {
				to.Data[i*to.Stride+i] += t.weight * t.of.At(i, i)
			}
			continue
		}
		from := of.RawSymmetric()
		for i := range d {
			for j := i; j < d; j++ {
				to.Data[i*to.Stride+j] += t.weight * from.Data[i*from.Stride+j]
			}
		}
	}
	return sum
}

// A term is a weighted matrix. It is dense or diagonal.
type term struct {
	weight float64
	of     mat.Symmetric
}

// outer returns v vᵀ.
func outer(v []float64) mat.Symmetric {
	s := mat.NewSymDense(len(v), nil)
	s.SymOuterK(1, mat.NewDense(len(v), 1, v))
	return s
}

// apply returns M v.
func apply(m mat.Matrix, v []float64) []float64 {
	rows, _ := m.Dims()
	out := mat.NewVecDense(rows, nil)
	out.MulVec(m, mat.NewVecDense(len(v), v))
	return out.RawVector().Data
}

func dot(a, b []float64) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

func minus(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i, x := range a {
		out[i] = x - b[i]
	}
	return out
}

func norm(v []float64) float64 { return math.Sqrt(dot(v, v)) }

// diagonal returns the diagonal matrix with elements f(0), ..., f(d−1).
func diagonal(d int, f func(int) float64) *mat.DiagDense {
	out := mat.NewDiagDense(d, nil)
	for i := range d {
		out.SetDiag(i, f(i))
	}
	return out
}

// packedSize returns the number of elements of a packed symmetric d×d matrix.
func packedSize(d int) int { return d * (d + 1) / 2 }

// pack writes scale times the lower triangle of a to dst, row by row. It also multiplies elements off
// the diagonal by √2, so that the L2 norm of dst is scale times the Frobenius norm of a.
func pack(dst []float64, a *mat.SymDense, scale float64) {
	n := 0
	for i := range a.SymmetricDim() {
		for j := range i {
			dst[n] = scale * math.Sqrt2 * a.At(i, j)
			n++
		}
		dst[n] = scale * a.At(i, i)
		n++
	}
}

// packSquare packs AᵀA as pack does, without computing the whole matrix.
func packSquare(dst []float64, a *mat.Dense, scale float64) {
	clear(dst)
	rows, _ := a.Dims()
	for k := range rows {
		row, n := a.RawRowView(k), 0
		for i, x := range row {
			x *= scale
			off := dst[n : n+i]
			floats.AddScaled(off, math.Sqrt2*x, row[:i])
			dst[n+i] += x * row[i]
			n += i + 1
		}
	}
}

// unpack returns scale times the symmetric matrix that pack writes as the slice packed. With scale
// 1, independent noise of sd τ in the packed elements becomes noise of sd τ on the diagonal of the
// matrix and of sd τ/√2 off the diagonal.
func unpack(packed []float64, d int, scale float64) *mat.SymDense {
	a := mat.NewSymDense(d, nil)
	n := 0
	for i := range d {
		for j := range i {
			a.SetSym(i, j, scale/math.Sqrt2*packed[n])
			n++
		}
		a.SetSym(i, i, scale*packed[n])
		n++
	}
	return a
}
