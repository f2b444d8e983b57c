package dpmech

import (
	"fmt"
	"math"

	"fedpvi/accountant"
)

// A Sum releases sums of vectors with noise of a [Law]. It clips each vector to the L2 norm C,
// truncates it toward zero onto a lattice, adds the vectors as integers, and adds the noise share of
// the release.
//
// Guarantee: for two adjacent inputs, a sum of releases with n noise shares that the observer does
// not know satisfies the privacy profile of [Sum.EventFor](n, adjacency). The sensitivity
// is C for add-remove and zero-out. It is 2C for replace-one and for vectors that are aggregates.
// Here C is rounded down to whole lattice steps. The sensitivity holds because the integer norm of
// every vector is at most C. For most vectors a bound on the rounding error proves this. For all
// other vectors the program computes the norm in 128-bit arithmetic. A vector with an element that
// is not finite adds zero. No error is returned for this vector, because an error would reveal
// private information.
//
// A release can have any number of vectors. If there are more than Config.Terms, the sum is
// saturated: every element is limited to ±Terms·C, the range of the sums of Terms vectors. This
// does not change the guarantee, because it never increases the distance between elements of two
// sums. The L2 distance between the sums of adjacent inputs therefore does not grow, and the result
// is still on the lattice. The sum of fewer vectors does not change. Leaving out randomly chosen
// vectors would be worse: an added vector could then replace another vector in the sum, and the
// sensitivity would be at least 2C under every adjacency.
//
// No sum can overflow: [NewSum] returns an error if Releases·(Terms·C + noise) could reach
// 2^62 lattice steps.
type Sum struct {
	cfg     Config
	lattice Lattice
	name    string // name of the law
	law     Law    // distribution of one noise share
	sd      int64  // standard deviation of one noise share, in lattice steps
	clip    int64  // ⌊C/step⌋, in lattice steps
	gate    gate
}

// NewSum derives the lattice and the noise share from cfg. It rounds the standard deviation of a
// share up to a whole number of lattice steps. The noise is therefore at least the requested noise,
// and exceeds it by less than one part in 2^23.
func NewSum(cfg Config, family Family) (*Sum, error) {
	m, err := newSum(cfg, family)
	if err != nil {
		return nil, fmt.Errorf("%s sum: %w", family.Name, err)
	}
	return m, nil
}

func newSum(cfg Config, family Family) (*Sum, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	share := cfg.NoiseMultiplier * cfg.Clip / math.Sqrt(float64(cfg.Shares))
	if !(share > 0) || math.IsInf(share, 0) {
		return nil, fmt.Errorf("a noise share of %g is out of range", share)
	}
	_, exp := math.Frexp(share) // the exponent for which 2^(exp-1) ≤ share < 2^exp
	lattice, err := NewLattice(sigmaBits - exp)
	if err != nil {
		return nil, fmt.Errorf("a noise share of %g is out of range: %w", share, err)
	}
	// The factor 1 + 2^-50 covers the rounding of the quotient and of the root from which share is
	// computed.
	sd := int64(math.Ceil(math.Ldexp(share, lattice.exponent) * (1 + 0x1p-50)))
	clip := math.Floor(math.Ldexp(cfg.Clip, lattice.exponent))
	if err := cfg.fitNoise(clip, sd); err != nil {
		return nil, err
	}
	m := &Sum{cfg: cfg, lattice: lattice, name: family.Name, sd: sd, clip: int64(clip), gate: newGate(lattice, int64(clip))}
	if m.law, err = family.New(sd, m.sensitivity(cfg.Adjacency)); err != nil {
		return nil, err
	}
	if err := cfg.fit(clip, m.law.Bound()); err != nil {
		return nil, err
	}
	return m, nil
}

// sensitivity returns the largest L2 distance between the sums of adjacent inputs, in lattice steps.
func (m *Sum) sensitivity(adjacency accountant.Adjacency) float64 {
	factor := m.cfg.sensitivity(adjacency)
	return factor * float64(m.clip)
}

// Dim returns the number of elements of a vector.
func (m *Sum) Dim() int { return m.cfg.Dim }

// Clip returns C, the bound on the L2 norm of a vector.
func (m *Sum) Clip() float64 { return m.cfg.Clip }

// Shares returns the number of noise shares that a sum must contain for its noise to have the
// standard deviation that the noise multiplier states.
func (m *Sum) Shares() int { return m.cfg.Shares }

// NoiseMultiplier returns the noise multiplier σ of the configuration.
func (m *Sum) NoiseMultiplier() float64 { return m.cfg.NoiseMultiplier }

// Lattice returns the grid of the releases.
func (m *Sum) Lattice() Lattice { return m.lattice }

// Law returns the distribution of one noise share, in lattice steps.
func (m *Sum) Law() Law { return m.law }

// draw fills dst with the noise of one release.
func (m *Sum) draw(dst []int64, src *Stream) {
	m.law.Fill(dst, src)
}

// MaxTotal returns the largest absolute value that an element of a sum of releases can have, in
// lattice steps.
func (m *Sum) MaxTotal() int64 {
	return int64(m.cfg.Releases) * (int64(m.cfg.Terms)*m.clip + m.law.Bound())
}

// Event returns the cost of one release under the Config's adjacency. It assumes that Config.Shares
// noise shares are unknown to the observer.
func (m *Sum) Event() accountant.Event {
	return m.EventFor(m.cfg.Shares, m.cfg.Adjacency)
}

// EventFor returns the cost of one release under an adjacency, if the observer sees only a sum of
// releases. shares is the number of noise shares in the sum that the observer does not know.
func (m *Sum) EventFor(shares int, adjacency accountant.Adjacency) accountant.Event {
	sensitivity := m.sensitivity(adjacency)
	return m.law.Event(sensitivity, shares, m.cfg.Dim, adjacency)
}

// A GaussianSum is a [Sum] with discrete Gaussian noise.
type GaussianSum struct {
	*Sum
	noise DiscreteGaussian // distribution of one noise share
}

// NewGaussianSum returns the mechanism for cfg.
func NewGaussianSum(cfg Config) (*GaussianSum, error) {
	m, err := NewSum(cfg, gaussian)
	if err != nil {
		return nil, err
	}
	return &GaussianSum{m, m.law.(DiscreteGaussian)}, nil
}

// ShareSigma returns the σ of one noise share, in lattice steps.
func (m *GaussianSum) ShareSigma() int64 { return m.sd }
