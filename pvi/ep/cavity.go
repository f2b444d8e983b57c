package ep

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"fedpvi/internal/special"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
)

// shift moves the origin of natural parameters, in place, from the point c to c − offset. entries
// holds the row and column of each element of the precision (see [gaussian.Family]).
func shift(natural, offset []float64, entries [][2]int) {
	d := len(offset)
	for k, at := range entries {
		i, j := at[0], at[1]
		natural[i] += natural[d+k] * offset[j]
		if i != j {
			natural[j] += natural[d+k] * offset[i]
		}
	}
}

// A cavity is a [solver.Approximation] with a workspace, so that it can be set without allocations.
type cavity struct {
	solver.Approximation
	symmetric blas64.Symmetric // view of Covariance
	entries   [][2]int
}

func newCavity(family gaussian.Family) *cavity {
	d := family.Dim()
	c := &cavity{entries: family.Precision()}
	c.Approximation = solver.Approximation{Family: family, Mean: make([]float64, d), Variance: make([]float64, d), Natural: make([]float64, family.Size())}
	if family.Name() != "diagonal" {
		c.Covariance = make([]float64, d*d)
		c.symmetric = blas64.Symmetric{Uplo: blas.Lower, N: d, Stride: d, Data: c.Covariance}
	}
	return c
}

// solve computes the mean and covariance from Natural. It returns false if Natural is not proper.
func (c *cavity) solve() bool {
	d := len(c.Mean)
	if c.Covariance == nil {
		for i, precision := range c.Natural[d:] {
			if !(precision > 0) {
				return false
			}
			c.Variance[i] = 1 / precision
			c.Mean[i] = c.Natural[i] / precision
		}
		return special.Finite(c.Mean)
	}
	for k, at := range c.entries {
		c.Covariance[at[0]*d+at[1]] = c.Natural[d+k]
	}
	root, ok := lapack64.Potrf(c.symmetric)
	if !ok {
		return false
	}
	if _, ok = lapack64.Potri(root); !ok {
		return false
	}
	for i := range d {
		c.Variance[i] = c.Covariance[i*d+i]
		for j := range i {
			c.Covariance[j*d+i] = c.Covariance[i*d+j]
		}
	}
	clear(c.Mean)
	for i := range d {
		for j, h := range c.Natural[:d] {
			c.Mean[i] += c.Covariance[i*d+j] * h
		}
	}
	return special.Finite(c.Mean) && special.Finite(c.Variance)
}
