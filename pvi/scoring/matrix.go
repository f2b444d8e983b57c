package scoring

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
	"fedpvi/pvi/model/tape"
)

// cholesky returns the lower Cholesky factor of a positive definite matrix. If rounding has made
// the matrix indefinite, cholesky first increases the diagonal slightly. It is three times as fast
// as [mat.Cholesky], which also estimates a condition number.
func cholesky(a *mat.SymDense) *mat.TriDense {
	d, trace := a.SymmetricDim(), mat.Trace(a)
	root := mat.NewSymDense(d, nil)
	for jitter := 0.0; ; jitter = max(10*jitter, 1e-14) {
		root.CopySym(a)
		for i := range d {
			root.SetSym(i, i, a.At(i, i)+jitter*(trace/float64(d)))
		}
		if upper, ok := lapack64.Potrf(root.RawSymmetric()); ok {
			return lower(upper)
		}
		if jitter > 1 || math.IsNaN(trace) {
			panic(notFinite{})
		}
	}
}

// lower returns the transpose of an upper triangular matrix.
func lower(u blas64.Triangular) *mat.TriDense {
	l := mat.NewTriDense(u.N, mat.Lower, nil)
	to := l.RawTriangular()
	for i := range u.N {
		for j, x := range u.Data[i*u.Stride+i : i*u.Stride+u.N] {
			to.Data[(i+j)*to.Stride+i] = x
		}
	}
	return l
}

// solved returns L⁻¹. It panics with notFinite if L is singular.
func solved(l *mat.TriDense) *mat.TriDense {
	d, _ := l.Dims()
	inv := mat.NewTriDense(d, mat.Lower, nil)
	inv.Copy(l)
	if !lapack64.Trtri(inv.RawTriangular()) || !special.Finite(inv.RawTriangular().Data) {
		panic(notFinite{})
	}
	return inv
}

// A notFinite is the value to panic with if numbers overflow. The function total turns the panic
// into an error.
type notFinite struct{}

// A whitening holds the columns of L⁻¹ for a lower triangular matrix L, each from the diagonal
// down. Regressors are often zero. Skipping their columns is faster than solving.
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

// apply replaces v by L⁻¹v. scratch must be as long as v.
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

// solve returns A⁻¹v, where l is the Cholesky factor of A.
func solve(l *mat.TriDense, v []float64) []float64 {
	out := blas64.Vector{N: len(v), Data: slices.Clone(v), Inc: 1}
	blas64.Trsv(blas.NoTrans, l.RawTriangular(), out)
	blas64.Trsv(blas.Trans, l.RawTriangular(), out)
	return out.Data
}

func inverse(a *mat.SymDense) *mat.SymDense { return congruent(transposed(solved(cholesky(a))), nil) }

// decomposed returns a matrix whose columns are the eigenvectors of A, and the eigenvalues. It
// panics with notFinite if they cannot be computed.
func decomposed(a *mat.SymDense) (vectors *mat.Dense, values []float64) {
	var eigen mat.EigenSym
	if !eigen.Factorize(a, true) {
		panic(notFinite{})
	}
	vectors = new(mat.Dense)
	eigen.VectorsTo(vectors)
	return vectors, eigen.Values(nil)
}

// full returns m as a dense matrix with contiguous rows, which may share memory with m.
func full(m mat.Matrix) *mat.Dense {
	rows, columns := m.Dims()
	if dense, ok := m.(*mat.Dense); ok && dense.RawMatrix().Stride == columns {
		return dense
	}
	out := mat.NewDense(rows, columns, nil)
	switch m := m.(type) {
	case *mat.SymDense:
		from := m.RawSymmetric()
		to := out.RawMatrix().Data
		for i := range rows {
			for j, x := range from.Data[i*from.Stride+i : i*from.Stride+rows] {
				to[i*rows+i+j], to[(i+j)*rows+i] = x, x
			}
		}
	case *mat.TriDense: // a lower triangle
		from := m.RawTriangular()
		for i := range rows {
			copy(out.RawRowView(i), from.Data[i*from.Stride:i*from.Stride+i+1])
		}
	default:
		out.Copy(m)
	}
	return out
}

func transposed(l *mat.TriDense) *mat.Dense {
	from := l.RawTriangular()
	out := mat.NewDense(from.N, from.N, nil)
	to := out.RawMatrix().Data
	for i := range from.N {
		for j, x := range from.Data[i*from.Stride : i*from.Stride+i+1] {
			to[j*from.N+i] = x
		}
	}
	return out
}

// triangle returns the lower triangular matrix whose elements are in m.
func triangle(m *mat.Dense) *mat.TriDense {
	d, _ := m.Dims()
	l := mat.NewTriDense(d, mat.Lower, nil)
	to := l.RawTriangular()
	for i := range d {
		copy(to.Data[i*to.Stride:i*to.Stride+i+1], m.RawRowView(i))
	}
	return l
}

// times returns A Bᵀ.
func times(a, b mat.Matrix) *mat.Dense {
	x, y := full(a), full(b)
	rows, _ := x.Dims()
	columns, _ := y.Dims()
	out := mat.NewDense(rows, columns, nil)
	all := numbers(columns)
	for i := range rows {
		tape.DotRows(out.RawRowView(i), y.RawMatrix().Data, all, x.RawRowView(i))
	}
	return out
}

// numbers returns 0, ..., n−1.
func numbers(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// congruent returns M S Mᵀ, or M Mᵀ if S is nil.
func congruent(m mat.Matrix, s mat.Symmetric) *mat.SymDense {
	whole := full(m)
	half := whole
	if s != nil {
		half = times(whole, s)
	}
	return symmetricTimes(half, whole)
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

// symmetricTimes returns A Bᵀ, which must be a symmetric matrix.
func symmetricTimes(a, b *mat.Dense) *mat.SymDense {
	d, _ := a.Dims()
	out := mat.NewSymDense(d, nil)
	to, all, row := out.RawSymmetric(), numbers(d), make([]float64, d)
	for j := range d {
		tape.DotRows(row[:j+1], b.RawMatrix().Data, all[:j+1], a.RawRowView(j))
		for i, x := range row[:j+1] {
			to.Data[i*to.Stride+j] = x
		}
	}
	return out
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

// A term is a matrix with a weight, for plus. The matrix may be dense or diagonal.
type term struct {
	weight float64
	of     mat.Symmetric
}

func outer(v []float64) mat.Symmetric {
	s := mat.NewSymDense(len(v), nil)
	s.SymOuterK(1, mat.NewDense(len(v), 1, v))
	return s
}

func apply(m mat.Matrix, v []float64) []float64 {
	rows, _ := m.Dims()
	out := mat.NewVecDense(rows, nil)
	out.MulVec(m, mat.NewVecDense(len(v), v))
	return out.RawVector().Data
}

func dot(a, b []float64) float64 { return floats.Dot(a, b) }

func minus(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i, x := range a {
		out[i] = x - b[i]
	}
	return out
}

func norm(v []float64) float64 { return math.Sqrt(dot(v, v)) }

func diagonal(d int, f func(int) float64) *mat.DiagDense {
	out := mat.NewDiagDense(d, nil)
	for i := range d {
		out.SetDiag(i, f(i))
	}
	return out
}

// packedSize returns the number of elements of a packed symmetric d×d matrix.
func packedSize(d int) int { return d * (d + 1) / 2 }

// pack writes the lower triangle of a times scale to dst, row by row. Elements off the diagonal are
// also multiplied by √2, so that the L2 norm of dst is scale times the Frobenius norm of a.
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

// packSquare is pack for AᵀA. It does not compute the whole matrix.
func packSquare(dst []float64, a *mat.Dense, scale float64) {
	rows, _ := a.Dims()
	for k := range rows {
		row, n := a.RawRowView(k), 0
		for i, x := range row {
			x *= scale
			off := dst[n : n+i]
			if k == 0 {
				floats.ScaleTo(off, math.Sqrt2*x, row[:i])
				dst[n+i] = 0
			} else {
				floats.AddScaled(off, math.Sqrt2*x, row[:i])
			}
			dst[n+i] += x * row[i]
			n += i + 1
		}
	}
}

// unpack is the inverse of pack, multiplied by scale. If scale is 1, independent noise with
// standard deviation τ in packed leads to noise with standard deviation τ on the diagonal and τ/√2
// elsewhere.
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
