package dpmech

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/internal/math32"
)

// A ProductLayer is a part of a record's vector: the outer product of two vectors of so
// many elements, as the gradient of a dense layer is its inputs times the derivatives of
// its outputs.
type ProductLayer struct{ Inputs, Outputs int }

// ProductConfig says what a [ProductSum] has to guarantee.
type ProductConfig struct {
	Sampling Sampling // whose steps are independent
	Records  int      // number of records that it samples from
	Steps    int      // most steps that will be taken

	Layers []ProductLayer // what a record's vector is made of

	Clip            float64 // C: the L2 bound on what one record adds to a step's sum, from 2^-20 to 2^20
	NoiseMultiplier float64 // σ: the standard deviation of the noise over the sensitivity

	// Together is how many records of a batch are added by a product of matrices. Their
	// rounding is paid for. The records of a larger batch beyond them are added one by
	// one, as integers: choose it so that such batches are rare.
	Together int

	Adjacency accountant.Adjacency
}

// A ProductSum is a [SampledSum] of records whose vectors are too long to be formed: they
// are outer products, which a product of matrices of float32 numbers adds up. Floats
// round, so that a sum depends on the records by more than their vectors: what rounding
// may add is bounded, and paid for in the sensitivity.
//
// Sensitivity. Let f be what a step computes before the noise, in steps of the lattice, of
// a batch in the order of its records, K = Together, c the clip. Every vector, of the
// float32 numbers that are multiplied, has a norm of at most c ([ProductRun.Put]). f is
// within e = c·SumError(K) of the exact sum of the first K ([math32.SumError]), and then
// each of d elements is rounded to the lattice, ½√d. The others are truncated, each by √d
// at most, and added exactly. One record more, or fewer, moves the exact sum by c; it may
// also push one record over K, which truncates it: √d. So f moves by at most
//
//	c + 2e + √d + √d
//
// whatever the others are, and twice as much at most if a record is replaced. Batches
// are put in order, since the rounding depends on it: the law of the order must not
// depend on who else might have been in the batch.
//
// Noise is exact and discrete, and the cost that of [SampledSum.SharedEventFor] with this
// sensitivity. The ledger's word for such a release is [BoundedFloat].
type ProductSum struct {
	cfg         ProductConfig
	sampler     Sampler
	lattice     Lattice
	noise       *slicedGaussian
	sigma       int64 // of the noise, in steps of the lattice
	gate        gate  // of records beyond Together
	dim         int
	clip        int64 // ⌊C/step⌋
	sensitivity int64 // in steps of the lattice
	event       accountant.Event
}

// BoundedFloat is how the numbers of a [ProductSum] were added: as floats, with an error
// that is bounded and part of the sensitivity.
const BoundedFloat = "bounded-float"

// productSigmaBits is sigmaBits for a ProductSum: its noise is at least 2^20 steps, few enough for a
// [slicedGaussian].
const productSigmaBits = 21

const (
	leastProductClip = 0x1p-20
	mostProductClip  = 0x1p20
	mostProductSide  = 1 << 16 // elements of one of the vectors of a product
	mostTogether     = 1 << 12
)

// NewProductSum derives lattice, sensitivity and noise.
func NewProductSum(cfg ProductConfig) (*ProductSum, error) {
	s := &ProductSum{cfg: cfg}
	err := cfg.check()
	if err == nil {
		s.sampler, err = cfg.Sampling.Sampler(cfg.Records)
	}
	if err == nil && s.sampler.Steps() != 1 {
		err = errors.New("batches of one epoch depend on each other: use Poisson, or another sampling with independent steps")
	}
	if err == nil {
		err = s.derive()
	}
	if err == nil {
		s.event, err = s.EventFor(cfg.Steps)
	}
	if err != nil {
		return nil, fmt.Errorf("product sum: %w", err)
	}
	return s, nil
}

func (c ProductConfig) check() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(c.Sampling == nil, "no sampling: name one, such as Poisson")
	refuse(len(c.Layers) == 0, "no layer: a record's vector is made of at least one product")
	for i, l := range c.Layers {
		refuse(l.Inputs < 1 || l.Inputs > mostProductSide || l.Outputs < 1 || l.Outputs > mostProductSide,
			"layer %d: products of 1 to %d by 1 to %d elements are possible, got %d by %d", i, mostProductSide, mostProductSide, l.Inputs, l.Outputs)
	}
	refuse(!(c.Clip >= leastProductClip && c.Clip <= mostProductClip), "the clip must lie in [%g, %g], got %g", leastProductClip, mostProductClip, c.Clip)
	refuse(!(c.NoiseMultiplier > 0) || math.IsInf(c.NoiseMultiplier, 0), "the noise multiplier must be positive and finite, got %g", c.NoiseMultiplier)
	refuse(c.Together < 1 || c.Together > mostTogether, "1 to %d records can be added together, got %d", mostTogether, c.Together)
	if err := c.Adjacency.Check(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// derive chooses a lattice as [NewGaussianSum] does, and what follows from it.
func (s *ProductSum) derive() error {
	for _, l := range s.cfg.Layers {
		s.dim += l.Inputs * l.Outputs
	}
	sigma := s.cfg.NoiseMultiplier * s.cfg.Clip
	_, exp := math.Frexp(sigma)
	lattice, err := NewLattice(productSigmaBits - exp)
	if err != nil {
		return fmt.Errorf("noise of %g is out of range: %w", sigma, err)
	}
	most := math.Ldexp(s.cfg.Clip, lattice.exponent) // steps that a vector is long, if it is not truncated
	clip := math.Floor(most)
	rounding := 2*math32.SumError(s.cfg.Together)*most + 2*math.Sqrt(float64(s.dim))
	sensitivity := math.Ceil((clip+rounding)*(1+0x1p-50)) + 1
	share := math.Ceil(s.cfg.NoiseMultiplier * sensitivity * (1 + 0x1p-50))
	if !(share <= mostSliced) {
		return fmt.Errorf("rounding outweighs the clip: fewer than %d records together, or fewer than %d elements, would do", s.cfg.Together, s.dim)
	}
	s.sigma, s.noise = int64(share), newSliced(uint64(share))
	limits := Config{NoiseMultiplier: s.cfg.NoiseMultiplier, Shares: 1, Terms: max(1, s.sampler.MaxBatch()), Releases: 1}
	if err := limits.fit(sensitivity, s.sigma, s.noise.bound); err != nil {
		return err
	}
	if float64(s.cfg.Together)*sensitivity+float64(s.noise.bound) >= 1<<51 {
		return fmt.Errorf("%d vectors and their noise do not fit: a noise multiplier of at least %.3g would do", s.cfg.Together, s.cfg.NoiseMultiplier*2)
	}
	s.lattice, s.clip, s.sensitivity = lattice, int64(clip), int64(sensitivity)
	s.gate = newGate(lattice, s.clip)
	return nil
}

// Event returns the cost of one run, that is of all steps that are planned.
func (s *ProductSum) Event() accountant.Event { return s.event }

// EventFor returns the cost of the first steps steps. That of a sampling is stated for
// vectors of norm 1, and here for the sensitivity, of which a vector's norm is a part.
func (s *ProductSum) EventFor(steps int) (accountant.Event, error) {
	sigma := float64(s.sigma)
	accounted := sigma / float64(s.sensitivity) * (1 - 1/(12*sigma*sigma) - 0x1p-50)
	sampled, err := s.sampler.Event(accounted, s.cfg.Adjacency, steps)
	if err != nil {
		return nil, err
	}
	discreteness := accountant.DiscreteGaussian{Sigma: sigma, Shares: 1, Dim: s.dim, Adjacency: s.cfg.Adjacency}
	return accountant.Composed{sampled, accountant.Repeated{Event: discreteness, Times: steps}}, nil
}

// Dim returns the number of elements of a vector.
func (s *ProductSum) Dim() int { return s.dim }

// Sensitivity returns how far one record moves a sum, rounding with it: Clip and a little
// more.
func (s *ProductSum) Sensitivity() float64 { return s.lattice.Float(s.sensitivity) }

// Sigma returns the standard deviation of the noise of a step.
func (s *ProductSum) Sigma() float64 { return s.lattice.Float(s.sigma) }

// Lattice returns the grid on which sums are released.
func (s *ProductSum) Lattice() Lattice { return s.lattice }
