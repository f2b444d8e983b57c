package cuda

import (
	"errors"
	"fmt"
	"math"
)

// A Family is the distribution of an outcome y given its linear predictor η.
type Family uint64

// These are the families of outcomes, numbered as in the kernels.
const (
	Logistic         Family = iota // 0 or 1; the linear predictor η is the log odds of 1
	Linear                         // normal with mean η
	Poisson                        // count with mean e^η
	Probit                         // 0 or 1; the probability of 1 is Φ(η), with the normal distribution function Φ
	Robust                         // Student's t distribution around η; the log of the scale is a coordinate of θ
	NegativeBinomial               // count with mean μ = e^η and variance μ + μ²/φ; log φ is a coordinate of θ
	families
)

// spread reports whether models in the family have a coordinate for the logarithm of the outcomes'
// spread. may is true if a model can have one, and must is true if it has to have one.
func (f Family) spread() (may, must bool) {
	must = f == Robust || f == NegativeBinomial
	return must || f == Linear, must
}

// A Regression has the records of a problem for a generalised linear model. The linear predictor is
// η = x·θ.
type Regression struct {
	Family    Family
	Dim       int       // number of coordinates of θ, from 1 to [MaxDim]
	Rows      []float64 // covariates, record after record; each record has Dim of them
	Outcomes  []float64 // outcome of each record
	Precision float64   // precision of a [Linear] outcome, which must be positive
}

// MaxDim is the maximum number of coordinates of θ. It limits the shared memory that a block needs.
const MaxDim = 1024

func (r *Regression) check() error {
	switch {
	case r.Family >= families:
		return fmt.Errorf("cuda: no family has the number %d", r.Family)
	case r.Family == Robust || r.Family == NegativeBinomial:
		return errors.New("cuda: outcomes whose spread is a coordinate need a Multilevel")
	case r.Dim < 1 || r.Dim > MaxDim:
		return fmt.Errorf("cuda: the number of coordinates must lie in [1, %d], got %d", MaxDim, r.Dim)
	case len(r.Rows) != r.Dim*len(r.Outcomes):
		return errors.New("cuda: every outcome needs a row of as many numbers as there are coordinates")
	case r.Family == Linear && !positive(r.Precision):
		return fmt.Errorf("cuda: the precision of outcomes must be positive and finite, got %g", r.Precision)
	}
	return nil
}

func positive(x float64) bool { return x > 0 && x <= math.MaxFloat64 }

// A Table is a model and its records in a device's memory.
type Table struct {
	device       Device
	kernel       string
	family       Family
	records, dim int
	share        float64 // this problem's share of log(prior/base)
	memory       uint64
	// rows, outcomes, model and beyond are addresses in the device memory that begins at memory.
	// beyond is the address of the priors. It is 0 if the prior equals the [Base].
	rows, outcomes, model, beyond uint64
	// shared returns the number of words of shared memory that the model needs in a block with the
	// given number of threads.
	shared func(threads int) int
	kept   *keptRecords // nil unless the table stays on the device
}

// A content has the numbers of a table before they are copied to a device.
type content struct {
	rows, outcomes, model []float64
	priors                []uint64
}

func (t *Table) put(c content) (*Table, error) {
	if words := t.words(leastThreads); words > mostShared {
		return nil, fmt.Errorf("cuda: the model takes %d words of a block's memory, which has %d", words, mostShared)
	}
	words := make([]uint64, 0, len(c.rows)+len(c.outcomes)+len(c.model)+len(c.priors))
	place := func(v []float64) int {
		at := len(words)
		words = appendFloats(words, v)
		return at
	}
	rows, outcomes, model := place(c.rows), place(c.outcomes), place(c.model)
	from := len(words)
	words = append(words, c.priors...)
	memory, err := t.device.Alloc(8 * len(words))
	if err != nil {
		return nil, fmt.Errorf("cuda: a table of records: %w", err)
	}
	if err := t.device.Write(memory, words); err != nil {
		return nil, errors.Join(fmt.Errorf("cuda: a table of records: %w", err), t.device.Free(memory))
	}
	address := func(place int) uint64 { return memory + uint64(8*place) }
	t.memory, t.rows, t.outcomes, t.model = memory, address(rows), address(outcomes), address(model)
	if c.priors != nil {
		t.beyond = address(from)
	}
	return t, nil
}

// Records are data for a model that has kernels.
type Records interface {
	// Put copies the data to a device.
	Put(d Device) (*Table, error)
}

// Put copies the data to a device and returns the table. Every coordinate has a normal prior: the
// [Base]'s normal distribution.
func (r Regression) Put(d Device) (*Table, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	t := &Table{
		device: d, kernel: "descend_regression", family: r.Family, records: len(r.Outcomes), dim: r.Dim,
		shared: func(threads int) int { return max(threads, r.Dim) + threads + threads/2 },
	}
	return t.put(content{rows: r.Rows, outcomes: r.Outcomes, model: []float64{r.Precision}})
}

// Free frees the device's memory, unless a [Tables] keeps the table there.
func (t *Table) Free() error {
	if t.kept != nil {
		t.kept.leave()
		return nil
	}
	return t.device.Free(t.memory)
}

func appendFloats(words []uint64, v []float64) []uint64 {
	for _, x := range v {
		words = append(words, math.Float64bits(x))
	}
	return words
}
