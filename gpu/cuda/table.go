package cuda

import (
	"errors"
	"fmt"
	"math"
)

// A Family says how an outcome y depends on the linear predictor η = x·θ.
type Family uint64

// The families, in the order that the kernels have.
const (
	Logistic Family = iota // y is 1 with log odds η, and 0 otherwise
	Linear                 // y ~ N(η, 1/Precision)
	Poisson                // y is a count with the logarithm of its mean η
)

// A Regression is the data of a generalised linear model.
type Regression struct {
	Family    Family
	Dim       int       // d: coordinates of θ, from 1 to [MaxDim]
	Rows      []float64 // d numbers for each record
	Outcomes  []float64 // one for each record
	Precision float64   // of a [Linear] outcome; positive
}

// MaxDim is the largest number of coordinates for which a block's memory is enough.
const MaxDim = 1024

func (r *Regression) check() error {
	switch {
	case r.Family > Poisson:
		return fmt.Errorf("cuda: no family has the number %d", r.Family)
	case r.Dim < 1 || r.Dim > MaxDim:
		return fmt.Errorf("cuda: the number of coordinates must lie in [1, %d], got %d", MaxDim, r.Dim)
	case len(r.Rows) != r.Dim*len(r.Outcomes):
		return errors.New("cuda: every outcome needs a row of as many numbers as there are coordinates")
	case r.Family == Linear && !(r.Precision > 0 && r.Precision <= math.MaxFloat64):
		return fmt.Errorf("cuda: the precision of outcomes must be positive and finite, got %g", r.Precision)
	}
	return nil
}

// A Table is a [Regression] in a device's memory.
type Table struct {
	device         Device
	family         Family
	records, dim   int
	precision      float64
	rows, outcomes uint64
}

// NewTable copies data to a device.
func NewTable(d Device, r Regression) (*Table, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	t := &Table{device: d, family: r.Family, records: len(r.Outcomes), dim: r.Dim, precision: r.Precision}
	words := appendFloats(appendFloats(make([]uint64, 0, len(r.Rows)+len(r.Outcomes)), r.Rows), r.Outcomes)
	var err error
	if t.rows, err = d.Alloc(8 * len(words)); err != nil {
		return nil, fmt.Errorf("cuda: a table of %d records: %w", t.records, err)
	}
	t.outcomes = t.rows + uint64(8*len(r.Rows))
	if err := d.Write(t.rows, words); err != nil {
		return nil, errors.Join(fmt.Errorf("cuda: a table of %d records: %w", t.records, err), d.Free(t.rows))
	}
	return t, nil
}

// Free gives the device's memory back.
func (t *Table) Free() error { return t.device.Free(t.rows) }

func appendFloats(words []uint64, v []float64) []uint64 {
	for _, x := range v {
		words = append(words, math.Float64bits(x))
	}
	return words
}
