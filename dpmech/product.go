package dpmech

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/internal/math32"
)

// A ProductLayer describes a part of a record's vector. This part is the outer product of a vector
// with Inputs elements and a vector with Outputs elements, so it has Inputs·Outputs elements. The
// gradient of a dense layer has this form: the first vector holds the inputs of the layer, and the
// second holds the derivatives with respect to its outputs.
type ProductLayer struct{ Inputs, Outputs int }

// ProductConfig configures a [ProductSum].
type ProductConfig struct {
	Sampling Sampling // rule for the batches; an epoch of the rule must be a single step
	Records  int      // number of records from which batches are drawn
	Steps    int      // maximum number of steps of a run

	Layers []ProductLayer // parts of a record's vector

	Clip            float64 // C, the L2 bound on the contribution of one record to a step's sum, from 2^-20 to 2^20
	NoiseMultiplier float64 // σ, the standard deviation of the noise divided by the sensitivity

	// Together is the maximum number of records of a batch whose vectors are added up by one
	// product of float matrices. The sensitivity includes the rounding error of this product. If a
	// batch is larger, the records after the first Together are added one by one as integers, which
	// is slow. Choose Together so that such batches are rare.
	Together int

	Adjacency accountant.Adjacency
}

// A ProductSum is a [SampledSum] for records whose vectors are too long to be computed explicitly.
// The vectors are outer products, and a product of float32 matrices adds them up. The rounding
// error of this sum depends on all vectors together, but it is bounded, and the sensitivity
// includes the bound.
//
// Sensitivity. Let f be the sum of a step before the noise, in lattice steps. Let K = Together, let
// c be the clip in lattice steps, and let d be the number of elements of a vector. The vector of a
// record is the exact outer product of its inputs and its shortened outputs, as float32 numbers
// ([ProductRun.Put]). This product has a norm of at most c.
//
// The first K vectors are added in float32. This sum is within e = c·SumError(K) of the exact sum
// ([math32.SumError]). The d elements of this sum are then rounded to the lattice, with an error of
// at most ½√d. Each of the other vectors is truncated, which changes it by at most √d. The
// truncated vectors are added exactly.
//
// If one record is added or removed, f changes by at most
//
//	c + 2e + √d + √d
//
// for all values of the other records. The term c is for the record itself. The terms 2e and √d are
// for the errors of the float32 sum and of its rounding, in both inputs. The last √d is for another
// record that moves across position K, and is therefore truncated in only one of the inputs. If a
// record is replaced, f changes by at most twice as much. Batches are sorted because the rounding
// depends on the order, and the distribution of the order must not depend on the other records.
//
// The noise is an exact sample of the discrete Gaussian. The cost is the event of
// [SampledSum.SharedEventFor] with this sensitivity. The ledger marks this kind of release with
// [BoundedFloat].
type ProductSum struct {
	cfg         ProductConfig
	sampler     Sampler
	lattice     Lattice
	noise       *slicedGaussian
	sigma       int64 // σ of the noise, in lattice steps
	gate        gate  // clips the records after the first Together records
	dim         int
	clip        int64 // ⌊C/step⌋, in lattice steps
	sensitivity int64 // sensitivity in lattice steps
	event       accountant.Event
}

// BoundedFloat is the name of the arithmetic of a [ProductSum]: floats whose rounding error is
// bounded and included in the sensitivity.
const BoundedFloat = "bounded-float"

// productSigmaBits determines the lattice step of a ProductSum, as sigmaBits does for a
// GaussianSum. With this value the standard deviation of the noise is at least 2^20 lattice steps,
// and small enough for a [slicedGaussian].
const productSigmaBits = 21

const (
	leastProductClip = 0x1p-20
	mostProductClip  = 0x1p20
	mostProductSide  = 1 << 16 // maximum length of the vectors in a product
	mostTogether     = 1 << 12
)

// NewProductSum returns the mechanism for cfg. It derives the lattice, the sensitivity and the
// noise from cfg. It returns an error for a configuration that is not valid or has no proven cost.
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
	refuse(len(c.Layers) == 0, "no layer: a record's vector needs at least one product")
	for i, l := range c.Layers {
		refuse(l.Inputs < 1 || l.Inputs > mostProductSide || l.Outputs < 1 || l.Outputs > mostProductSide,
			"layer %d: a product must have 1 to %d by 1 to %d elements, got %d by %d", i, mostProductSide, mostProductSide, l.Inputs, l.Outputs)
	}
	refuse(!(c.Clip >= leastProductClip && c.Clip <= mostProductClip), "the clip must lie in [%g, %g], got %g", leastProductClip, mostProductClip, c.Clip)
	refuse(!(c.NoiseMultiplier > 0) || math.IsInf(c.NoiseMultiplier, 0), "the noise multiplier must be positive and finite, got %g", c.NoiseMultiplier)
	refuse(c.Together < 1 || c.Together > mostTogether, "the number of records added together must lie in [1, %d], got %d", mostTogether, c.Together)
	if err := c.Adjacency.Check(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// derive chooses the lattice as [NewGaussianSum] does. It then computes the clip, the sensitivity
// and the noise in lattice steps.
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
	most := math.Ldexp(s.cfg.Clip, lattice.exponent) // maximum norm of a vector in lattice steps, before truncation
	clip := math.Floor(most)
	rounding := 2*math32.SumError(s.cfg.Together)*most + 2*math.Sqrt(float64(s.dim))
	sensitivity := math.Ceil((clip+rounding)*(1+0x1p-50)) + 1
	share := math.Ceil(s.cfg.NoiseMultiplier * sensitivity * (1 + 0x1p-50))
	if !(share <= mostSliced) {
		return fmt.Errorf("the rounding is larger than the clip: use fewer than %d records together, or fewer than %d elements", s.cfg.Together, s.dim)
	}
	s.sigma, s.noise = int64(share), newSliced(uint64(share))
	limits := Config{NoiseMultiplier: s.cfg.NoiseMultiplier, Shares: 1, Terms: max(1, s.sampler.MaxBatch()), Releases: 1}
	if err := limits.fitNoise(sensitivity, s.sigma); err != nil {
		return err
	}
	if err := limits.fit(sensitivity, s.noise.bound); err != nil {
		return err
	}
	if float64(s.cfg.Together)*sensitivity+float64(s.noise.bound) >= 1<<51 {
		return fmt.Errorf("%d vectors and their noise could overflow: use a noise multiplier of at least %.3g", s.cfg.Together, s.cfg.NoiseMultiplier*2)
	}
	s.lattice, s.clip, s.sensitivity = lattice, int64(clip), int64(sensitivity)
	s.gate = newGate(lattice, s.clip)
	return nil
}

// Event returns the cost of one run with all planned steps.
func (s *ProductSum) Event() accountant.Event { return s.event }

// EventFor returns the cost of the given number of steps, counted from the first. The event of a
// sampling is for vectors of norm 1, so EventFor divides the noise by the sensitivity, which
// includes both the clip and the rounding.
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

// Sensitivity returns the largest change of a sum due to one record, including rounding, in the
// units of Clip. The result is slightly larger than Clip.
func (s *ProductSum) Sensitivity() float64 { return s.lattice.Float(s.sensitivity) }

// Sigma returns the standard deviation of a step's noise.
func (s *ProductSum) Sigma() float64 { return s.lattice.Float(s.sigma) }

// Lattice returns the grid of the sums.
func (s *ProductSum) Lattice() Lattice { return s.lattice }
