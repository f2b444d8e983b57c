package dpmech

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"fedpvi/accountant"
)

// sigmaBits is the size of a noise share in lattice steps: the lattice is made
// so fine that a share's σ lies in [2^(sigmaBits-1), 2^sigmaBits]. From 2^20 on
// the discrete Gaussian's guarantee is that of the continuous one to far below
// any δ (see [accountant.DiscreteGaussian]).
const sigmaBits = 24

// maxClipOverShare is the largest ratio of the clip to the σ of one noise share.
// Beyond it the bound on the noise would show: what is accounted is a Gaussian
// without one, and differs from it by e^(-2^20) times e^ε.
const maxClipOverShare = 1 << 10

// maxTotal bounds the absolute value of any sum of releases, so that an int64
// holds it with a bit to spare.
const maxTotal = 1 << 62

// Config says what a [GaussianSum] has to guarantee.
type Config struct {
	Dim  int     // number of elements of a vector, at least 1
	Clip float64 // C: the L2 bound on what one vector adds to the sum

	// NoiseMultiplier is σ: the standard deviation of the noise that hides one
	// vector, divided by Clip, when Shares shares of it are in the sum.
	NoiseMultiplier float64

	// Shares is the number of independent noise shares that together reach
	// NoiseMultiplier: 1 if a release carries all of its noise, U_min − t if
	// at least U_min releases are summed and up to t of them come from
	// colluders, who know their own noise.
	Shares int

	Terms    int // most vectors that one release adds up
	Releases int // most releases that are summed before anyone reads the total

	Adjacency accountant.Adjacency
}

// A GaussianSum adds vectors of bounded influence and hides each with discrete
// Gaussian noise: clip to L2 norm C, truncate toward zero onto a lattice, add as
// integers, add this release's noise share.
//
// Guarantee: for two inputs that are adjacent, a sum of releases that holds n
// shares unknown to the observer satisfies the privacy profile of
// [GaussianSum.EventFor](n, adjacency). Sensitivity is C for add-remove and zero-out, 2C
// for replace-one, exactly, because the integer norm of every vector is checked
// in 128-bit arithmetic. A vector with an element that is not finite adds zero.
//
// No sum can overflow: [NewGaussianSum] refuses a Config for which
// Releases·(Terms·C + noise) could reach 2^62 lattice steps.
type GaussianSum struct {
	cfg     Config
	lattice Lattice
	perStep float64 // 1/step
	noise   DiscreteGaussian
	clip    int64 // ⌊C/step⌋
}

// NewGaussianSum derives the lattice and the noise share that cfg asks for. The
// share is rounded up to a whole number of lattice steps, so the noise is never
// below what was asked and above it by less than one part in 2^23.
func NewGaussianSum(cfg Config) (*GaussianSum, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("gaussian sum: %w", err)
	}
	share := cfg.NoiseMultiplier * cfg.Clip / math.Sqrt(float64(cfg.Shares))
	_, exp := math.Frexp(share) // share in [2^(exp-1), 2^exp)
	lattice, err := NewLattice(sigmaBits - exp)
	if err != nil {
		return nil, fmt.Errorf("gaussian sum: a noise share of %g is out of range: %w", share, err)
	}
	// The factor covers the rounding of the quotient and of the root.
	sigma := int64(math.Ceil(math.Ldexp(share, lattice.exponent) * (1 + 0x1p-50)))
	noise, err := NewDiscreteGaussian(sigma)
	if err != nil {
		return nil, fmt.Errorf("gaussian sum: %w", err)
	}
	clip := math.Floor(math.Ldexp(cfg.Clip, lattice.exponent))
	if err := cfg.fit(clip, noise); err != nil {
		return nil, fmt.Errorf("gaussian sum: %w", err)
	}
	return &GaussianSum{
		cfg:     cfg,
		lattice: lattice,
		perStep: 1 / lattice.Step(),
		noise:   noise,
		clip:    int64(clip),
	}, nil
}

// fit refuses a clip, in lattice steps, beside which the noise is too little or
// too much, and sums that could overflow.
func (c Config) fit(clip float64, noise DiscreteGaussian) error {
	if ratio := clip / float64(noise.Sigma()); ratio > maxClipOverShare {
		return fmt.Errorf("with noise multiplier %.6g over %d noise shares one share is %.4g times smaller than the clip, at most %d times is possible: a noise multiplier of %.3g would do, or at most %.0f noise shares",
			c.NoiseMultiplier, c.Shares, ratio, maxClipOverShare, math.Sqrt(float64(c.Shares))/maxClipOverShare*(1+1e-3), math.Floor(math.Pow(maxClipOverShare*c.NoiseMultiplier, 2)))
	}
	if clip < 1 {
		return fmt.Errorf("noise multiplier %g is so large that the clip is below one lattice step: at most %.3g is possible with %d noise shares",
			c.NoiseMultiplier, math.Ldexp(math.Sqrt(float64(c.Shares)), sigmaBits-1), c.Shares)
	}
	perRelease := float64(c.Terms)*clip + float64(noise.Bound())
	most := math.Ceil(maxTotal/perRelease) - 1
	switch {
	case float64(c.Releases)*perRelease < maxTotal:
		return nil
	case most < 1:
		return fmt.Errorf("one release of %d vectors could overflow: at most %.0f vectors fit", c.Terms, math.Floor((maxTotal-float64(noise.Bound()))/clip)-1)
	case float64(c.Releases)*float64(noise.Bound()) >= maxTotal:
		return fmt.Errorf("the noise alone of %d releases could overflow: at most %.0f releases of %d vectors can be added up", c.Releases, most, c.Terms)
	default:
		return fmt.Errorf("%d releases of %d vectors could overflow: at most %.0f such releases can be added up; fewer vectors in each or a larger noise multiplier than %.6g let more of them fit", c.Releases, c.Terms, most, c.NoiseMultiplier)
	}
}

func (c Config) check() error {
	positive := func(name string, x float64) error {
		if !(x > 0) || math.IsInf(x, 0) {
			return fmt.Errorf("%s must be positive and finite, got %g", name, x)
		}
		return nil
	}
	atLeastOne := func(name string, n int) error {
		if n < 1 {
			return fmt.Errorf("%s must be at least 1, got %d", name, n)
		}
		return nil
	}
	return errors.Join(
		positive("clip", c.Clip),
		positive("noise multiplier", c.NoiseMultiplier),
		atLeastOne("dimension", c.Dim),
		atLeastOne("number of noise shares", c.Shares),
		atLeastOne("number of vectors in a release", c.Terms),
		atLeastOne("number of releases", c.Releases),
		c.Adjacency.Check(),
	)
}

// Dim returns the number of elements of a vector.
func (m *GaussianSum) Dim() int { return m.cfg.Dim }

// Clip returns C.
func (m *GaussianSum) Clip() float64 { return m.cfg.Clip }

// Shares returns the number of noise shares that together reach the noise
// multiplier.
func (m *GaussianSum) Shares() int { return m.cfg.Shares }

// NoiseMultiplier returns σ as it was asked for.
func (m *GaussianSum) NoiseMultiplier() float64 { return m.cfg.NoiseMultiplier }

// Lattice returns the grid on which releases are written.
func (m *GaussianSum) Lattice() Lattice { return m.lattice }

// ShareSigma returns σ of one noise share in lattice steps.
func (m *GaussianSum) ShareSigma() int64 { return m.noise.Sigma() }

// MaxTotal returns a bound on the absolute value, in lattice steps, of any
// element of a sum of releases.
func (m *GaussianSum) MaxTotal() int64 {
	return int64(m.cfg.Releases) * (int64(m.cfg.Terms)*m.clip + m.noise.Bound())
}

// Event returns the cost of one release under the Config's adjacency, against an
// observer to whom Config.Shares noise shares are unknown.
func (m *GaussianSum) Event() accountant.Event {
	return m.EventFor(m.cfg.Shares, m.cfg.Adjacency)
}

// EventFor returns the cost of one release under an adjacency, against an
// observer who sees a sum in which shares noise shares are unknown to him.
func (m *GaussianSum) EventFor(shares int, adjacency accountant.Adjacency) accountant.Event {
	return accountant.DiscreteGaussian{
		Sensitivity: float64(m.clip) * adjacency.Factor(),
		Sigma:       float64(m.noise.Sigma()),
		Shares:      shares,
		Dim:         m.cfg.Dim,
		Adjacency:   adjacency,
	}
}

// A Query feeds the vectors of one release to add, which copies what it needs.
// It must stop and return the error if add returns one.
type Query func(add func(v []float64) error) error

// Release writes to dst the noisy sum of the vectors that query feeds, in
// lattice steps, and to sum the same without noise. Only dst may leave the
// house. The noise is drawn before query is called. A vector that is not finite
// adds zero.
//
// A vector of the wrong length, more than Config.Terms vectors, and an error of
// query fail the release; dst and sum are then zero, and nothing was revealed.
func (m *GaussianSum) Release(dst, sum []int64, src *Stream, query Query) error {
	if err := m.checkDestination(dst, sum); err != nil {
		return err
	}
	m.noise.Fill(dst, src)
	clear(sum)
	terms := 0
	err := query(func(v []float64) error {
		if terms++; terms > m.cfg.Terms {
			return fmt.Errorf("gaussian sum: more than the %d vectors that it was made for", m.cfg.Terms)
		}
		return m.add(sum, v)
	})
	return m.finish(dst, sum, err)
}

// Noise is a noise share that was drawn and hides nothing yet. The zero Noise is
// none.
type Noise struct {
	of    *GaussianSum // nil if there is none, or it is used up
	steps []int64
}

// Draw draws the noise of one release. What noise held before is lost.
func (m *GaussianSum) Draw(noise *Noise, src *Stream) {
	if len(noise.steps) != m.cfg.Dim {
		noise.steps = make([]int64, m.cfg.Dim)
	}
	m.noise.Fill(noise.steps, src)
	noise.of = m
}

// ReleaseOne is Release for the single vector v, under noise that [GaussianSum.Draw]
// drew before anybody looked at the data of which v is made. It uses the noise up,
// also if it fails, and allocates nothing. It refuses a v that is not finite.
func (m *GaussianSum) ReleaseOne(dst, sum []int64, noise *Noise, v []float64) error {
	if noise.of != m {
		return errors.New("gaussian sum: no noise was drawn for this release")
	}
	noise.of = nil
	if err := m.checkDestination(dst, sum); err != nil {
		return err
	}
	copy(dst, noise.steps)
	clear(noise.steps)
	clear(sum)
	_, err := clipFactor(v, m.cfg.Clip)
	if err == nil {
		err = m.add(sum, v)
	}
	return m.finish(dst, sum, err)
}

func (m *GaussianSum) checkDestination(dst, sum []int64) error {
	if len(dst) != m.cfg.Dim || len(sum) != m.cfg.Dim {
		return fmt.Errorf("gaussian sum: destination has %d and %d elements, want %d", len(dst), len(sum), m.cfg.Dim)
	}
	return nil
}

func (m *GaussianSum) finish(dst, sum []int64, err error) error {
	if err != nil {
		clear(dst)
		clear(sum)
		return err
	}
	for i, s := range sum {
		dst[i] += s
	}
	return nil
}

// add adds the clipped and truncated v to sum.
func (m *GaussianSum) add(sum []int64, v []float64) error {
	if len(v) != m.cfg.Dim {
		return fmt.Errorf("gaussian sum: vector has %d elements, want %d", len(v), m.cfg.Dim)
	}
	factor, err := clipFactor(v, m.cfg.Clip)
	if err != nil {
		return nil // a vector that is not finite adds zero
	}
	for !m.fits(v, factor) {
		factor = min(factor*(1-0x1p-20), math.Nextafter(factor, 0))
	}
	for i, x := range v {
		sum[i] += m.steps(x, factor)
	}
	return nil
}

// steps is what the vector element x adds to the sum under a clip factor.
// Multiplying by a power of two is exact, and the conversion truncates.
func (m *GaussianSum) steps(x, factor float64) int64 {
	return int64(x * factor * m.perStep)
}

// fits reports whether factor·v, truncated, has an integer norm of at most
// ⌊C/step⌋.
func (m *GaussianSum) fits(v []float64, factor float64) bool {
	limitHi, limitLo := bits.Mul64(uint64(m.clip), uint64(m.clip))
	var hi, lo, carry uint64
	for _, x := range v {
		n := m.steps(x, factor)
		if n < 0 {
			n = -n
		}
		if n > m.clip { // also keeps the sum of squares below 2^128
			return false
		}
		h, l := bits.Mul64(uint64(n), uint64(n))
		lo, carry = bits.Add64(lo, l, 0)
		hi, carry = bits.Add64(hi, h, carry)
		if carry != 0 {
			return false
		}
	}
	return hi < limitHi || hi == limitHi && lo <= limitLo
}

// clipFactor returns a factor that brings v to L2 norm C or less up to
// rounding, or [ErrNotFinite]. A vector within the bound keeps its length.
func clipFactor(v []float64, c float64) (float64, error) {
	var largest float64
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return 0, ErrNotFinite
		}
		largest = max(largest, math.Abs(x))
	}
	if largest == 0 {
		return 1, nil
	}
	// Scaled by the largest element, squares neither overflow nor vanish.
	var ss float64
	for _, x := range v {
		r := x / largest
		ss += r * r
	}
	root := math.Sqrt(ss)
	if largest <= c/root {
		return 1, nil
	}
	return c / root / largest * (1 - 0x1p-40), nil
}
