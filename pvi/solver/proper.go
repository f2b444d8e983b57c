package solver

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"fedpvi/pvi/gaussian"
)

// A proper makes a factor one that a likelihood could have, without allocating: where its
// precision is negative along a direction it says nothing there, as in
// [gaussian.RepairLikelihood].
type proper struct {
	dim     int
	entries [][2]int
	vectors blas64.Symmetric // nil data for a diagonal family
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

// repair makes the factor proper. It reports whether it was.
func (p *proper) repair(factor []float64) bool {
	if p.work != nil {
		return p.repairFull(factor)
	}
	was := true
	for i, precision := range factor[p.dim:] {
		if precision < 0 {
			factor[i], factor[p.dim+i] = 0, 0
			was = false
		}
	}
	return was
}

func (p *proper) repairFull(factor []float64) bool {
	d, v := p.dim, p.vectors.Data
	p.load(factor)
	if _, ok := lapack64.Potrf(p.vectors); ok {
		return true
	}
	p.load(factor)
	if !lapack64.Syev('V', p.vectors, p.values, p.work, len(p.work)) {
		fillNaN(factor)
		return false
	}
	clear(p.along)
	for k, value := range p.values {
		for i := 0; i < d && value > 0; i++ {
			p.along[k] += v[i*d+k] * factor[i]
		}
	}
	clear(factor)
	for k, value := range p.values {
		if value <= 0 {
			continue
		}
		for i := range d {
			factor[i] += v[i*d+k] * p.along[k]
		}
		for n, at := range p.entries {
			factor[d+n] += value * v[at[0]*d+k] * v[at[1]*d+k]
		}
	}
	return false
}

// load copies the precision of a factor.
func (p *proper) load(factor []float64) {
	for n, at := range p.entries {
		p.vectors.Data[at[0]*p.dim+at[1]] = factor[p.dim+n]
	}
}
