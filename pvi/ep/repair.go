package ep

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"fedpvi/pvi/gaussian"
)

// proper is the workspace for repairing improper factors without allocations.
type proper struct {
	dim     int
	entries [][2]int
	vectors blas64.Symmetric // the precision or, during a repair, its eigenvectors; empty in a diagonal family
	values  []float64
	along   []float64
	work    []float64
}

func newProper(family gaussian.Family) *proper {
	d := family.Dim()
	p := &proper{dim: d, entries: family.Precision()}
	if family.Name() == "diagonal" {
		return p
	}
	p.vectors = blas64.Symmetric{Uplo: blas.Lower, N: d, Stride: d, Data: make([]float64, d*d)}
	p.values, p.along = make([]float64, d), make([]float64, d)
	size := make([]float64, 1)
	lapack64.Syev('V', p.vectors, p.values, size, -1)
	p.work = make([]float64, int(size[0]))
	return p
}

// repair makes a factor that noise made improper into one that a likelihood could have. It sets the
// factor to zero along directions of negative precision, as [gaussian.RepairLikelihood] does, and
// reports whether there were none.
func (p *proper) repair(factor []float64) bool { return p.raise(factor, 0) }

// raise raises the precision to floor along directions where it is less. The precision times mean
// becomes zero there if floor is zero, and otherwise does not change. It reports whether the
// precision was positive semidefinite.
func (p *proper) raise(factor []float64, floor float64) bool {
	if p.work != nil {
		return p.raiseFull(factor, floor)
	}
	was := true
	for i, precision := range factor[p.dim:] {
		was = was && precision >= 0
		switch {
		case precision >= floor:
		case floor > 0:
			factor[p.dim+i] = max(precision, floor) // a NaN stays
		default:
			factor[i], factor[p.dim+i] = 0, 0
		}
	}
	return was
}

func (p *proper) raiseFull(factor []float64, floor float64) bool {
	d, v := p.dim, p.vectors.Data
	p.load(factor)
	for i := range d {
		v[i*d+i] -= floor
	}
	if _, ok := lapack64.Potrf(p.vectors); ok {
		return true
	}
	p.load(factor)
	if !lapack64.Syev('V', p.vectors, p.values, p.work, len(p.work)) {
		fillNaN(factor)
		return false
	}
	was := p.values[0] >= 0 // the smallest eigenvalue
	clear(p.along)
	for k, value := range p.values {
		p.values[k] = max(value, floor)
		if p.values[k] > 0 {
			for i := range d {
				p.along[k] += v[i*d+k] * factor[i]
			}
		}
	}
	clear(factor)
	for k, value := range p.values {
		if value == 0 {
			continue
		}
		for i := range d {
			factor[i] += v[i*d+k] * p.along[k]
		}
		for n, at := range p.entries {
			factor[d+n] += value * v[at[0]*d+k] * v[at[1]*d+k]
		}
	}
	return was
}

func (p *proper) load(factor []float64) {
	for n, at := range p.entries {
		p.vectors.Data[at[0]*p.dim+at[1]] = factor[p.dim+n]
	}
}
