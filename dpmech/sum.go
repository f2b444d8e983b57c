package dpmech

import (
	"fmt"
	"math"

	"fedpvi/accountant"
)

// A GaussianSum releases sums of vectors with discrete Gaussian noise. It clips each vector to the
// L2 norm C, truncates it toward zero onto a lattice, adds the vectors as integers, and adds the
// noise share of the release.
//
// Guarantee: for two adjacent inputs, a sum of releases with n noise shares that the observer does
// not know satisfies the privacy profile of [GaussianSum.EventFor](n, adjacency). The sensitivity
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
// No sum can overflow: [NewGaussianSum] returns an error if Releases·(Terms·C + noise) could reach
// 2^62 lattice steps.
type GaussianSum struct {
	cfg     Config
	lattice Lattice
	noise   DiscreteGaussian // sampler of one noise share
	sigma   int64            // σ of one noise share, in lattice steps
	clip    int64            // ⌊C/step⌋, in lattice steps
	gate    gate
}

// NewGaussianSum derives the lattice and the noise share from cfg. It rounds the σ of a share up to
// a whole number of lattice steps. The noise is therefore at least the requested noise, and larger
// by less than one part in 2^23.
func NewGaussianSum(cfg Config) (*GaussianSum, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("gaussian sum: %w", err)
	}
	share := cfg.NoiseMultiplier * cfg.Clip / math.Sqrt(float64(cfg.Shares))
	if !(share > 0) || math.IsInf(share, 0) {
		return nil, fmt.Errorf("gaussian sum: a noise share of %g is out of range", share)
	}
	_, exp := math.Frexp(share) // the exponent for which 2^(exp-1) ≤ share < 2^exp
	lattice, err := NewLattice(sigmaBits - exp)
	if err != nil {
		return nil, fmt.Errorf("gaussian sum: a noise share of %g is out of range: %w", share, err)
	}
	// The factor 1 + 2^-50 covers the rounding of the quotient and of the root from which share is
	// computed.
	sigma := int64(math.Ceil(math.Ldexp(share, lattice.exponent) * (1 + 0x1p-50)))
	noise, err := NewDiscreteGaussian(sigma)
	if err != nil {
		return nil, fmt.Errorf("gaussian sum: %w", err)
	}
	clip := math.Floor(math.Ldexp(cfg.Clip, lattice.exponent))
	if err := cfg.fit(clip, sigma, noise.Bound()); err != nil {
		return nil, fmt.Errorf("gaussian sum: %w", err)
	}
	return &GaussianSum{
		cfg:     cfg,
		lattice: lattice,
		noise:   noise,
		sigma:   sigma,
		clip:    int64(clip),
		gate:    newGate(lattice, int64(clip)),
	}, nil
}

// Dim returns the number of elements of a vector.
func (m *GaussianSum) Dim() int { return m.cfg.Dim }

// Clip returns C, the bound on the L2 norm of a vector.
func (m *GaussianSum) Clip() float64 { return m.cfg.Clip }

// Shares returns the number of noise shares that together reach the noise multiplier.
func (m *GaussianSum) Shares() int { return m.cfg.Shares }

// NoiseMultiplier returns the noise multiplier σ of the configuration.
func (m *GaussianSum) NoiseMultiplier() float64 { return m.cfg.NoiseMultiplier }

// Lattice returns the grid of the releases.
func (m *GaussianSum) Lattice() Lattice { return m.lattice }

// ShareSigma returns the σ of one noise share, in lattice steps.
func (m *GaussianSum) ShareSigma() int64 { return m.sigma }

// MaxTotal returns a bound on the absolute value of every element of a sum of releases, in lattice
// steps.
func (m *GaussianSum) MaxTotal() int64 {
	return int64(m.cfg.Releases) * (int64(m.cfg.Terms)*m.clip + m.noise.Bound())
}

// Event returns the cost of one release under the Config's adjacency. It assumes that Config.Shares
// noise shares are unknown to the observer.
func (m *GaussianSum) Event() accountant.Event {
	return m.EventFor(m.cfg.Shares, m.cfg.Adjacency)
}

// EventFor returns the cost of one release under an adjacency, if the observer sees only a sum
// of releases. The argument shares is the number of noise shares in the sum that the observer
// does not know.
func (m *GaussianSum) EventFor(shares int, adjacency accountant.Adjacency) accountant.Event {
	return accountant.DiscreteGaussian{
		Sensitivity: float64(m.clip) * m.cfg.sensitivity(adjacency),
		Sigma:       float64(m.sigma),
		Shares:      shares,
		Dim:         m.cfg.Dim,
		Adjacency:   adjacency,
	}
}
