package gpu

import "fedpvi/internal/special"

// A hessianSum adds up symmetric matrices with one row and one column for each coordinate of θ.
type hessianSum interface {
	// pair adds w·(abᵀ + baᵀ).
	pair(a, b segment, w float64)
	// square adds w·aaᵀ.
	square(a segment, w float64)
	// element adds x/2 to element (i, j) and x/2 to element (j, i) of the sum. If i = j, this adds
	// x to a single element.
	element(i, j int, x float64)
}

// A fullSum is a [hessianSum] that stores the whole sum S, in the form of a matrix half with S =
// half + halfᵀ.
type fullSum struct {
	d    int
	half []float64 // elements of half, row by row
}

func (f *fullSum) pair(a, b segment, w float64) {
	for i, x := range a.values {
		if x *= w; x == 0 {
			continue
		}
		row := f.half[(a.base+i)*f.d+b.base:][:len(b.values)]
		for j, y := range b.values {
			row[j] += x * y
		}
	}
}

func (f *fullSum) square(a segment, w float64) {
	for i, v := range a.values {
		x := w * v
		if x == 0 {
			continue
		}
		row := f.half[(a.base+i)*f.d+a.base:][:i+1]
		for j, y := range a.values[:i] {
			row[j] += x * y
		}
		row[i] += x * v / 2
	}
}

func (f *fullSum) element(i, j int, x float64) { f.half[i*f.d+j] += x / 2 }

// write writes the lower triangle of the matrix to dst, by rows. It returns an error if an element
// is not finite.
func (f *fullSum) write(dst []float64) error {
	k := 0
	for i := range f.d {
		for j := range i + 1 {
			dst[k] = f.half[i*f.d+j] + f.half[j*f.d+i]
			k++
		}
	}
	if !special.Finite(dst) {
		return errNotFinite
	}
	return nil
}

// A diagonalSum stores only the diagonal of the sum.
type diagonalSum []float64

func (s diagonalSum) pair(a, b segment, w float64) {
	from, to := max(a.base, b.base), min(a.base+len(a.values), b.base+len(b.values))
	for i := from; i < to; i++ {
		s[i] += 2 * w * a.values[i-a.base] * b.values[i-b.base]
	}
}

func (s diagonalSum) square(a segment, w float64) {
	for i, x := range a.values {
		s[a.base+i] += w * x * x
	}
}

func (s diagonalSum) element(i, j int, x float64) {
	if i == j {
		s[i] += x
	}
}
